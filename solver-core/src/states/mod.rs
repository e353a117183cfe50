//! Many states at once: words applied to all of them, cycles of many words, distances of all from all. Plain loops,
//! the twins that the kernels of graphics processors are compared with, bit for bit.

pub mod distances;
pub mod words;

/// States of one puzzle, one after the other: each a row of `degree` labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct States {
    degree: usize,
    labels: Vec<u16>,
}

/// Why a batch cannot be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatesError {
    #[error("state {at} has {labels} labels, but {degree} positions are meant")]
    Length {
        at: usize,
        labels: usize,
        degree: usize,
    },
    #[error("{degree} positions; from 1 to 65,535 are supported")]
    Degree { degree: usize },
    #[error(
        "target {at} has the label {label} twice; breakpoints are defined for targets whose labels are all different"
    )]
    Repeated { at: usize, label: u16 },
    #[error("word {at} names the generator {generator}, but there are {generators}")]
    NoGenerator {
        at: usize,
        generator: u16,
        generators: usize,
    },
    #[error("row {at} is no permutation: its value {value} is too large or there twice")]
    NoPermutation { at: usize, value: u16 },
}

impl States {
    /// No states yet, of `degree` labels each.
    ///
    /// # Errors
    /// No label at all, or more than 65,535.
    pub fn new(degree: usize) -> Result<States, StatesError> {
        if degree == 0 || degree > usize::from(u16::MAX) {
            return Err(StatesError::Degree { degree });
        }
        Ok(States {
            degree,
            labels: Vec::new(),
        })
    }

    /// The rows of a table of labels, `labels.len()` a multiple of `degree`.
    ///
    /// # Errors
    /// A last row that is too short, and as [`States::new`].
    pub fn of(degree: usize, labels: Vec<u16>) -> Result<States, StatesError> {
        let empty = States::new(degree)?;
        match labels.len() % degree {
            0 => Ok(States { labels, ..empty }),
            rest => Err(StatesError::Length {
                at: labels.len() / degree,
                labels: rest,
                degree,
            }),
        }
    }

    /// One state more.
    ///
    /// # Errors
    /// Another number of labels.
    pub fn push(&mut self, state: &[u16]) -> Result<(), StatesError> {
        if state.len() != self.degree {
            return Err(StatesError::Length {
                at: self.len(),
                labels: state.len(),
                degree: self.degree,
            });
        }
        self.labels.extend_from_slice(state);
        Ok(())
    }

    /// Labels of one state.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.labels.len() / self.degree
    }

    /// No states?
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// State `at`.
    pub fn row(&self, at: usize) -> &[u16] {
        &self.labels[at * self.degree..(at + 1) * self.degree]
    }

    /// All states in order.
    pub fn rows(&self) -> std::slice::ChunksExact<'_, u16> {
        self.labels.chunks_exact(self.degree)
    }

    /// All labels, row by row.
    pub fn labels(&self) -> &[u16] {
        &self.labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_another_length_are_refused() {
        let mut states = States::new(3).expect("three positions");
        assert!(states.is_empty());
        states.push(&[2, 0, 1]).expect("three labels");
        assert_eq!(
            states.push(&[0, 1]),
            Err(StatesError::Length {
                at: 1,
                labels: 2,
                degree: 3
            })
        );
        assert_eq!(states.len(), 1);
        assert_eq!(states.row(0), [2, 0, 1]);
        assert!(States::of(2, vec![0, 1, 2]).is_err());
        assert_eq!(States::new(0), Err(StatesError::Degree { degree: 0 }));
        assert!(States::new(65_536).is_err());
    }
}
