//! Line charts as SVG and PNG. The same chart gives the same bytes on every machine: the font is
//! part of the program, and nothing is asked of the system.

mod draw;

pub use draw::{png, svg};

/// A chart of lines over a whole-numbered axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    pub title: String,
    pub x_label: String,
    pub y_label: String,
    /// The smallest and the largest number of the x axis.
    pub x: (u32, u32),
    /// The y axis begins and ends here.
    pub y: (f64, f64),
    pub lines: Vec<Line>,
}

/// One line, its points from left to right. A line without points has no entry in the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: String,
    pub points: Vec<(u32, f64)>,
}

/// Why a chart was not drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the picture cannot be drawn: {0}")]
pub struct PlotError(pub(crate) String);
