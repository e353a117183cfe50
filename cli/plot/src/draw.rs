//! Drawing with plotters, once for both kinds of files.

use crate::{Chart, Line, PlotError};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use std::sync::OnceLock;

/// Pixels.
const SIZE: (u32, u32) = (1200, 800);
/// Width of the legend at the right.
const LEGEND: u32 = 230;
const FONT: &str = "DejaVu Sans";

/// The chart as an SVG document.
///
/// # Errors
/// Where the drawing library fails.
pub fn svg(chart: &Chart) -> Result<String, PlotError> {
    font()?;
    let mut text = String::new();
    let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
    draw(chart, &area)?;
    drop(area);
    Ok(text)
}

/// The chart as a PNG file.
///
/// # Errors
/// Where the drawing library or the encoder fails.
pub fn png(chart: &Chart) -> Result<Vec<u8>, PlotError> {
    font()?;
    let (width, height) = SIZE;
    let mut pixels = vec![0u8; (width * height * 3) as usize];
    let area = BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area();
    draw(chart, &area)?;
    drop(area);
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, width, height);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_depth(::png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(file)
}

fn failed(error: impl std::fmt::Display) -> PlotError {
    PlotError(error.to_string())
}

/// Makes the font known to the library, once.
fn font() -> Result<(), PlotError> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let done = DONE
        .get_or_init(|| register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).is_ok());
    if *done {
        Ok(())
    } else {
        Err(PlotError("its font is damaged".into()))
    }
}

/// Colours that neighbours in the list do not share, each usable with four marks.
const COLOURS: [(u8, u8, u8); 7] = [
    (31, 119, 180),
    (214, 39, 40),
    (44, 160, 44),
    (148, 103, 189),
    (214, 120, 10),
    (80, 80, 80),
    (23, 160, 170),
];

fn draw<B: DrawingBackend>(chart: &Chart, area: &DrawingArea<B, Shift>) -> Result<(), PlotError>
where
    B::ErrorType: 'static,
{
    area.fill(&WHITE).map_err(failed)?;
    let (plot, legend) = area.split_horizontally(SIZE.0 - LEGEND);
    let (left, right) = chart.x;
    let x = f64::from(left) - 0.3..f64::from(right) + 0.3;
    let mut context = ChartBuilder::on(&plot)
        .caption(&chart.title, (FONT, 22))
        .margin(14)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(x, chart.y.0..chart.y.1)
        .map_err(failed)?;
    context
        .configure_mesh()
        .light_line_style(WHITE)
        .x_labels((right - left + 1) as usize * 2)
        .x_label_formatter(&|x| match x.fract() {
            f if f.abs() < 1e-9 => format!("{x:.0}"),
            _ => String::new(),
        })
        .y_label_formatter(&|y| format!("{y:.1}"))
        .x_desc(&chart.x_label)
        .y_desc(&chart.y_label)
        .label_style((FONT, 16))
        .axis_desc_style((FONT, 18))
        .draw()
        .map_err(failed)?;
    let drawn: Vec<&Line> = chart
        .lines
        .iter()
        .filter(|l| !l.points.is_empty())
        .collect();
    for (k, line) in drawn.iter().enumerate() {
        let style = style_of(k);
        let points: Vec<(f64, f64)> = line
            .points
            .iter()
            .map(|&(x, y)| (f64::from(x), y))
            .collect();
        context
            .draw_series(LineSeries::new(
                points.iter().copied(),
                style.stroke_width(2),
            ))
            .map_err(failed)?;
        // In pixels of the whole picture, like the marks of the legend.
        for &point in &points {
            mark(area, k, context.backend_coord(&point))?;
        }
    }
    let x = (SIZE.0 - LEGEND) as i32;
    for (k, line) in drawn.iter().enumerate() {
        let y = 52 + 27 * k as i32;
        let path = vec![(x + 6, y), (x + 38, y)];
        area.draw(&PathElement::new(path, style_of(k).stroke_width(2)))
            .map_err(failed)?;
        mark(area, k, (x + 22, y))?;
        legend
            .draw(&Text::new(line.name.as_str(), (46, y - 9), (FONT, 15)))
            .map_err(failed)?;
    }
    area.present().map_err(failed)
}

fn style_of(k: usize) -> RGBColor {
    let (r, g, b) = COLOURS[k % COLOURS.len()];
    RGBColor(r, g, b)
}

/// The mark of a line: with the colour it tells lines apart.
fn mark<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    k: usize,
    (x, y): (i32, i32),
) -> Result<(), PlotError>
where
    B::ErrorType: 'static,
{
    let style = style_of(k).filled();
    let drawn = match k / COLOURS.len() % 4 {
        0 => area.draw(&Circle::new((x, y), 5, style)),
        1 => area.draw(&Rectangle::new([(x - 5, y - 5), (x + 5, y + 5)], style)),
        2 => area.draw(&TriangleMarker::new((x, y), 7, style)),
        _ => area.draw(&Cross::new((x, y), 5, style_of(k).stroke_width(3))),
    };
    drawn.map_err(failed)
}
