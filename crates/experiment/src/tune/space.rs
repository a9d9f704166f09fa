//! Space of a search: one dimension for each variation.

use lockgate_scenario::Vary;
use lockgate_scenario::vary::{self, Range, Spacing, Values};

use crate::Error;

/// Values that a search may take.
#[derive(Clone, Debug)]
pub struct Space {
    vary: Vec<Vary>,
    dimensions: Vec<Dimension>,
    document: toml::Table,
}

/// Values of one variation.
#[derive(Clone, Debug)]
pub(super) enum Dimension {
    /// Every value between two ends, by a position from 0 to 1.
    Range(Range),
    /// Values in an order, by their index.
    Steps(Vec<String>),
    /// Words without an order, by their index.
    Words(Vec<String>),
}

impl Dimension {
    /// Returns the distance of two coordinates, as a part of the dimension; 1 for two different words.
    fn distance(&self, one: Coordinate, other: Coordinate) -> f64 {
        match (self, one, other) {
            (_, Coordinate::Position(one), Coordinate::Position(other)) => (one - other).abs(),
            (Self::Steps(texts), Coordinate::Index(one), Coordinate::Index(other)) => {
                one.abs_diff(other) as f64 / (texts.len() - 1) as f64
            }
            _ => f64::from(u8::from(one != other)),
        }
    }
}

/// One value of each variation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Values as tables show them, in the order of the variations.
    pub values: Vec<String>,
    /// Settings, each `PATH=VALUE`.
    pub settings: Vec<String>,
}

impl Space {
    /// Creates the space of variations of a scenario's text.
    ///
    /// # Errors
    /// If a variation has no values, or only one.
    pub fn new(vary: Vec<Vary>, text: &str) -> Result<Self, Error> {
        let dimension = |one: &Vary| {
            if let Values::Range(range) = &one.values
                && matches!(range.spacing, Spacing::All(_))
            {
                return Ok(Dimension::Range(range.clone()));
            }
            let texts = one.values.texts()?;
            if texts.len() < 2 {
                return Err(Error::Tune(format!(
                    "`{}` has only one value: there is nothing to tune",
                    one.name
                )));
            }
            let is_ordered = texts.iter().all(|text| vary::number(text).is_some());
            Ok(if is_ordered { Dimension::Steps(texts) } else { Dimension::Words(texts) })
        };
        let dimensions = vary.iter().map(dimension).collect::<Result<Vec<_>, Error>>()?;
        Ok(Self { vary, dimensions, document: toml::from_str(text).unwrap_or_default() })
    }

    /// Returns the variations.
    pub fn variations(&self) -> &[Vary] {
        &self.vary
    }

    /// Returns the names of the variations.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.vary.iter().map(|one| one.name.as_str())
    }

    pub(super) fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// Returns the point at these coordinates: a position or an index in each dimension.
    pub(super) fn point(&self, coordinates: &[Coordinate]) -> Result<Point, Error> {
        let mut point = Point::default();
        for ((one, dimension), coordinate) in self.vary.iter().zip(&self.dimensions).zip(coordinates) {
            let text = match (dimension, coordinate) {
                (Dimension::Range(range), Coordinate::Position(position)) => range.at(*position)?,
                (Dimension::Steps(texts) | Dimension::Words(texts), Coordinate::Index(index)) => {
                    texts[(*index).min(texts.len() - 1)].clone()
                }
                _ => return Err(Error::Tune(format!("`{}` has coordinates of another kind", one.name))),
            };
            point.values.push(vary::shown(&text).to_owned());
            point.settings.extend(one.settings(&text, &self.document)?);
        }
        Ok(point)
    }

    /// Returns the distance of two points: the largest of their distances in each dimension, as a part of it.
    pub(super) fn distance(&self, one: &[Coordinate], other: &[Coordinate]) -> f64 {
        let parts = self.dimensions.iter().zip(one).zip(other);
        parts.map(|((dimension, one), other)| dimension.distance(*one, *other)).fold(0.0, f64::max)
    }

    /// Returns points that test the scenario with extreme values: both ends of each dimension.
    ///
    /// # Errors
    /// If a variation is a share of a rate that the scenario does not have.
    pub fn corners(&self) -> Result<Vec<Point>, Error> {
        let end = |dimension: &Dimension, is_high: bool| match dimension {
            Dimension::Range(_) => Coordinate::Position(f64::from(u8::from(is_high))),
            Dimension::Steps(texts) | Dimension::Words(texts) => {
                Coordinate::Index(if is_high { texts.len() - 1 } else { 0 })
            }
        };
        let low: Vec<Coordinate> = self.dimensions.iter().map(|one| end(one, false)).collect();
        let mut corners = vec![self.point(&low)?];
        for (index, dimension) in self.dimensions.iter().enumerate() {
            let all = match dimension {
                Dimension::Words(texts) => (1..texts.len()).map(Coordinate::Index).collect(),
                other => vec![end(other, true)],
            };
            for one in all {
                let mut coordinates = low.clone();
                coordinates[index] = one;
                corners.push(self.point(&coordinates)?);
            }
        }
        Ok(corners)
    }
}

/// Coordinate in one dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Coordinate {
    /// Position between the ends of a range, from 0 to 1.
    Position(f64),
    /// Index of a value.
    Index(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_has_a_value_of_each_dimension_and_its_settings() {
        let text = "[link.wan]\nbetween = [\"a\", \"b\"]\nrate = { up = \"10mbit\", down = \"1mbit\" }\n";
        let vary = [
            "port.a:b.queue.q.rate=80%..100% of link",
            "port.a:b.queue.q.target=1ms..100ms log",
            "port.a:b.queue.q.limit=10..30 step 10",
            "port.a:b.root=x,y,z",
        ];
        let vary: Vec<Vary> = vary.iter().map(|text| Vary::parse_space(text).expect("a variation")).collect();
        let space = Space::new(vary, text).expect("a space");
        let half = [
            Coordinate::Position(0.25),
            Coordinate::Position(0.5),
            Coordinate::Index(2),
            Coordinate::Index(1),
        ];
        let point = space.point(&half).expect("a point");
        assert_eq!(point.values, ["85%", "10ms", "30", "y"]);
        assert_eq!(point.settings[..2], ["port.a:b.queue.q.rate=8.5mbit", "port.a:b.queue.q.target=10ms"]);
        // The low corner, the high ends of three dimensions, and two more words.
        assert_eq!(space.corners().expect("corners").len(), 6);
        let alone = vec![Vary::parse("link.wan.loss=1%").expect("one")];
        assert!(Space::new(alone, text).is_err_and(|error| error.to_string().contains("only one value")));
    }
}
