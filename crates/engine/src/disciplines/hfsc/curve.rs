//! Service curves of two straight pieces, in whole numbers.
//!
//! ```text
//! work |            .-''  m2            min(old, new) where a backlog begins again:
//!      |        .-''
//!      |      /                           concave (m1 > m2): new where it is below, old after they meet
//!      |     /  m1                        convex: the new one, unless the old one is below where it begins
//!      |____/_________ time
//!           x   d
//! ```
//!
//! Work is in picobits (8·10^12 a byte) and time in picoseconds, real or virtual: a bit per second is a picobit
//! per picosecond, so a curve is exact, and only the time at which it reaches some work is rounded, up.

use core::fmt;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Serialize, Serializer};

use crate::units::{Bytes, Duration, Rate};

/// Picobits of a byte.
const BYTE: u128 = 8_000_000_000_000;

/// The work that `bytes` are.
#[inline]
pub(super) fn work(bytes: Bytes) -> u128 {
    u128::from(bytes.0) * BYTE
}

/// A curve as it is written: a rate, or `{ m1, d, m2 }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The rate of the first piece.
    pub m1: Rate,
    /// How long the first piece lasts.
    pub d: Duration,
    /// The rate from then on.
    pub m2: Rate,
}

/// The pieces of a curve.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Pieces {
    /// The rate of the first piece; `0bit` where it is not given.
    #[serde(default)]
    m1: Rate,
    /// How long the first piece lasts.
    #[serde(default)]
    d: Duration,
    /// The rate from then on.
    m2: Rate,
}

impl Shape {
    /// Whether it begins no faster than it goes on.
    #[inline]
    fn is_convex(&self) -> bool {
        self.m1 <= self.m2
    }

    /// The work of its first piece.
    #[inline]
    fn rise(&self) -> u128 {
        u128::from(self.m1.as_bits()) * u128::from(self.d.as_picos())
    }
}

impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.d.is_zero() {
            return self.m2.serialize(serializer);
        }
        Pieces { m1: self.m1, d: self.d, m2: self.m2 }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RateOrPieces;
        impl<'de> Visitor<'de> for RateOrPieces {
            type Value = Shape;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as `10mbit`, or a curve such as `{ m1 = \"2mbit\", d = \"10ms\", m2 = \"1mbit\" }`")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Shape, E> {
                let rate: Rate = text.parse().map_err(E::custom)?;
                Ok(Shape { m1: rate, d: Duration::ZERO, m2: rate })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Shape, A::Error> {
                let Pieces { m1, d, m2 } = Pieces::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Shape { m1: if d.is_zero() { m2 } else { m1 }, d, m2 })
            }
        }
        deserializer.deserialize_any(RateOrPieces)
    }
}

impl JsonSchema for Shape {
    fn schema_name() -> Cow<'static, str> {
        "ServiceCurve".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (rate, pieces) = (generator.subschema_for::<Rate>(), generator.subschema_for::<Pieces>());
        schemars::json_schema!({ "anyOf": [rate, pieces] })
    }
}

/// A curve that began at some time with some work done. What each packet needs stands first, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Curve {
    /// A point of the second piece that was looked up: the next is near, and its division is a small one.
    near: (u128, u128),
    m2: u64,
    m1: u64,
    /// Where it began.
    x: u128,
    y: u128,
    /// How much of the first piece there is.
    dx: u128,
    dy: u128,
}

impl Curve {
    pub(super) fn new(shape: &Shape, x: u128, y: u128) -> Self {
        let mut curve = Self {
            x,
            y,
            dx: u128::from(shape.d.as_picos()),
            dy: shape.rise(),
            m1: shape.m1.as_bits(),
            m2: shape.m2.as_bits(),
            near: (0, 0),
        };
        curve.near = curve.bend();
        curve
    }

    /// Where the first piece ends.
    fn bend(&self) -> (u128, u128) {
        (self.x.saturating_add(self.dx), self.y.saturating_add(self.dy))
    }

    /// The earliest time at which it has reached `y`.
    #[inline]
    pub(super) fn time_of(&mut self, y: u128) -> u128 {
        // Beyond the bend, as what was looked up always is: where there is no first piece, from the beginning on.
        if y > self.near.1 { self.time_from(self.near, y) } else { self.time_of_earlier(y) }
    }

    /// [`time_of`](Self::time_of) what is not beyond the point looked up last.
    #[inline(never)]
    fn time_of_earlier(&mut self, y: u128) -> u128 {
        if y <= self.y {
            return self.x;
        }
        let bend = self.bend();
        if y <= bend.1 && self.m1 > 0 {
            let (time, _) = passage(y - self.y, self.m1);
            return (self.x + time).min(bend.0);
        }
        self.time_from(bend, y)
    }

    /// [`time_of`](Self::time_of), from a point of the second piece that is not beyond it.
    #[inline]
    fn time_from(&mut self, (x, at): (u128, u128), y: u128) -> u128 {
        let (time, is_late) = passage(y.saturating_sub(at), self.m2);
        let whole = time - u128::from(is_late);
        self.near = (x.saturating_add(whole), at.saturating_add(whole.saturating_mul(u128::from(self.m2))));
        x.saturating_add(time)
    }

    /// The earliest time at which a straight line of its second rate from where it began has reached `y`.
    #[inline]
    fn time_of_line(&self, y: u128) -> u128 {
        self.x.saturating_add(passage(y.saturating_sub(self.y), self.m2).0)
    }

    /// When work up to `y` may be done without needing more than the curve promises later: where it is
    /// concave, once the curve asks for it; where it is convex ahead of it, on a line of its second rate.
    #[inline]
    pub(super) fn eligible(&mut self, y: u128) -> u128 {
        if self.m1 <= self.m2 && self.dx > 0 { self.time_of_line(y) } else { self.time_of(y) }
    }

    /// The work it has reached at `x`.
    fn work_at(&self, x: u128) -> u128 {
        let (bend_x, bend_y) = self.bend();
        if x <= self.x {
            self.y
        } else if x <= bend_x {
            self.y.saturating_add((x - self.x).saturating_mul(u128::from(self.m1)))
        } else {
            bend_y.saturating_add((x - bend_x).saturating_mul(u128::from(self.m2)))
        }
    }

    /// Becomes the lower one of itself and `shape` begun at `x` with `y` done.
    #[inline]
    pub(super) fn lower(&mut self, shape: &Shape, x: u128, y: u128) {
        if shape.d.is_zero() && self.dx == 0 && x >= self.near.0 && self.m2 == shape.m2.as_bits() {
            // Of two parallel lines the lower one.
            let here = self.near.1.saturating_add((x - self.near.0).saturating_mul(u128::from(self.m2)));
            if here >= y {
                (self.x, self.y, self.near) = (x, y, (x, y));
            }
            return;
        }
        self.lower_pieces(shape, x, y);
    }

    #[inline(never)]
    fn lower_pieces(&mut self, shape: &Shape, x: u128, y: u128) {
        let new = Self::new(shape, x, y);
        let here = self.work_at(x);
        if shape.is_convex() {
            if here >= y {
                *self = new;
            }
            return;
        }
        if here <= y {
            return;
        }
        let (bend_x, bend_y) = new.bend();
        if self.work_at(bend_x) >= bend_y {
            *self = new;
            return;
        }
        // They meet on the first piece of the new one: while the old one is on its first piece too, the gap
        // stays; then it closes at the difference of the rates. Rounded up, which asks for more and not less.
        let together = self.bend().0.saturating_sub(x);
        let closing = passage(here - y, new.m1 - new.m2).0;
        let dx = together.saturating_add(closing).min(new.dx);
        *self = Self { dx, dy: dx.saturating_mul(u128::from(new.m1)), ..new };
        self.near = self.bend();
    }
}

/// Whether these curves, begun together, ever ask for more than a link of this rate carries. A sum of straight pieces
/// is highest above a straight line where one of them bends, or at the end.
pub(super) fn exceed(shapes: &[Shape], link: Rate) -> bool {
    let link = u128::from(link.as_bits());
    let work = |shape: &Shape, time: Duration| {
        let rest = u128::from(time.saturating_sub(shape.d).as_picos());
        let rise = u128::from(time.min(shape.d).as_picos()) * u128::from(shape.m1.as_bits());
        rise.saturating_add(rest * u128::from(shape.m2.as_bits()))
    };
    let asks_too_much = |bend: Duration| {
        let asked = shapes.iter().fold(0_u128, |sum, shape| sum.saturating_add(work(shape, bend)));
        asked > link * u128::from(bend.as_picos())
    };
    shapes.iter().any(|shape| asks_too_much(shape.d))
        || shapes.iter().map(|shape| u128::from(shape.m2.as_bits())).sum::<u128>() > link
}

/// How long `work` takes at `rate`, rounded up, and whether it was.
#[inline]
fn passage(work: u128, rate: u64) -> (u128, bool) {
    let (whole, rest) = match u64::try_from(work) {
        // A piece without a rate never gets there; far enough, and no sum with it wraps.
        _ if rate == 0 => return (u128::MAX / 4, false),
        Ok(work) => (u128::from(work / rate), u128::from(work % rate)),
        Err(_) => (work / u128::from(rate), work % u128::from(rate)),
    };
    let rest = rest > 0;
    (whole + u128::from(rest), rest)
}
