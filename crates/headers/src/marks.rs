//! Marks of a firewall, by the conditions that compare them: marks that meet the same conditions are one
//! class.

use crate::spans::Spans;

/// Limit on the classes, and on the cubes of one.
const MOST_CLASSES: usize = 4096;

/// Marks whose bits equal `value` where `mask` has ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cube {
    value: u32,
    mask: u32,
}

impl Cube {
    fn words(self) -> String {
        match self.mask {
            u32::MAX => format!("{:#x}", self.value),
            mask => format!("{:#x}/{mask:#x}", self.value),
        }
    }

    fn has(self, mark: u32) -> bool {
        (mark ^ self.value) & self.mask == 0
    }

    fn and(self, other: Self) -> Option<Self> {
        let differs = (self.value ^ other.value) & self.mask & other.mask;
        (differs == 0).then_some(Self {
            value: self.value & self.mask | other.value & other.mask,
            mask: self.mask | other.mask,
        })
    }

    /// Returns the marks that the other does not have.
    fn without(self, other: Self) -> Vec<Self> {
        if self.and(other).is_none() {
            return vec![self];
        }
        let mut rest = Self { value: self.value & self.mask, mask: self.mask };
        let mut outside = Vec::new();
        for bit in (0..32).map(|bit| 1 << bit).filter(|bit| other.mask & !self.mask & bit != 0) {
            let value = rest.value | other.value & bit;
            outside.push(Self { value: value ^ bit, mask: rest.mask | bit });
            rest = Self { value, mask: rest.mask | bit };
        }
        outside
    }
}

/// Classes of marks.
#[derive(Clone, Debug)]
pub struct Marks {
    conditions: Vec<Cube>,
    classes: Vec<Vec<Cube>>,
}

impl Default for Marks {
    fn default() -> Self {
        Self { conditions: Vec::new(), classes: vec![vec![Cube { value: 0, mask: 0 }]] }
    }
}

impl Marks {
    /// Returns the classes of conditions, each a value and a mask; `None` if there are too many. Unmarked
    /// packets, those of mark 0, are in the first class.
    pub fn new(conditions: impl IntoIterator<Item = (u32, u32)>) -> Option<Self> {
        let mut marks = Self::default();
        for (value, mask) in conditions {
            let condition = Cube { value: value & mask, mask };
            if marks.conditions.contains(&condition) {
                continue;
            }
            let mut classes = Vec::new();
            for class in &marks.classes {
                let inside: Vec<Cube> = class.iter().filter_map(|cube| cube.and(condition)).collect();
                let outside: Vec<Cube> = class.iter().flat_map(|cube| cube.without(condition)).collect();
                classes.extend([inside, outside].into_iter().filter(|cubes| !cubes.is_empty()));
            }
            if classes.len() > MOST_CLASSES || classes.iter().any(|class| class.len() > MOST_CLASSES) {
                return None;
            }
            marks.conditions.push(condition);
            marks.classes = classes;
        }
        marks.classes.sort_by_key(|class| class.iter().map(|cube| cube.value).min());
        Some(marks)
    }

    /// Returns the number of classes.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns false: there is a class at least.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the classes that meet a condition, one of those given.
    pub fn of(&self, value: u32, mask: u32) -> Spans {
        let condition = Cube { value: value & mask, mask };
        let meets = |class: &Vec<Cube>| {
            class.iter().all(|cube| condition.has(cube.value) && condition.mask & !cube.mask == 0)
        };
        let meant = self.classes.iter().enumerate().filter(|(_, class)| meets(class));
        Spans::of(meant.map(|(index, _)| (index as u128, index as u128)))
    }

    /// Returns the class of a mark.
    pub fn class(&self, mark: u32) -> u128 {
        self.classes.iter().position(|class| class.iter().any(|cube| cube.has(mark))).unwrap_or(0) as u128
    }

    /// Returns the lowest mark of a class.
    pub fn example(&self, class: u128) -> Option<u32> {
        let class = self.classes.get(usize::try_from(class).ok()?)?;
        class.iter().map(|cube| cube.value).min()
    }

    /// Returns values and masks in words, disjoint ones, that have exactly the marks of the classes.
    pub fn exact(&self, classes: &Spans) -> Vec<String> {
        let meant = self.classes.iter().enumerate().filter(|(class, _)| classes.contains(*class as u128));
        meant.flat_map(|(_, cubes)| cubes).map(|cube| cube.words()).collect()
    }

    /// Returns conditions in words whose marks together are those of the classes; `None` if there are none.
    pub fn words(&self, classes: &Spans) -> Option<Vec<String>> {
        let within: Vec<&Cube> = self
            .conditions
            .iter()
            .filter(|cube| self.of(cube.value, cube.mask).without(classes).is_empty())
            .collect();
        let all = within.iter().fold(Spans::of([]), |all, cube| all.or(&self.of(cube.value, cube.mask)));
        let known = classes.and(&Spans::up_to(self.classes.len() as u128 - 1));
        (all == known).then(|| within.into_iter().map(|cube| cube.words()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_one_class_meet_the_same_conditions() {
        let conditions = [(1, 0xff), (2, 0xff), (0x100, 0x100), (7, u32::MAX), (0, 0)];
        let marks = Marks::new(conditions).expect("few");
        for mark in (0..1024).chain([0x107, 0xffff_ff01, u32::MAX]) {
            let class = marks.class(mark);
            for (value, mask) in conditions {
                assert_eq!(
                    marks.of(value, mask).contains(class),
                    (mark ^ value) & mask == 0,
                    "{mark:#x} {value:#x}/{mask:#x}"
                );
            }
            let example = marks.example(class).expect("a class");
            assert_eq!(marks.class(example), class);
        }
        assert_eq!(marks.class(0), 0, "the unmarked packets");
        assert_eq!(marks.words(&marks.of(2, 0xff)), Some(vec!["0x2/0xff".to_owned()]));
        assert_eq!(marks.words(&Spans::one(0)), None, "marks that no condition names");
    }
}
