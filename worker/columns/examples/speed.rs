//! Rows a second into Parquet: states of 54 bytes and depths, one thread.

use antipode_columns::parquet_out::{Options, Writer};
use antipode_columns::{Batch, Cell, Column, Field, Kind, Values};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fields = [
        Field::new(
            "state",
            Kind::Vector {
                cell: Cell::U8,
                len: 54,
            },
        ),
        Field::new("depth", Kind::I32),
    ];
    let rows = 131_072;
    let batch = Batch {
        columns: vec![
            Column::full(Values::Vector {
                cell: Cell::U8,
                len: 54,
                bytes: vec![7; rows * 54],
            }),
            Column::full(Values::I32(vec![3; rows])),
        ],
    };
    let begin = Instant::now();
    let mut writer = Writer::new(std::io::sink(), &fields, &Options::default())?;
    let groups = 40;
    for _ in 0..groups {
        writer.write(vec![batch.clone()])?;
    }
    writer.finish()?;
    let seconds = begin.elapsed().as_secs_f64();
    println!("{:.1} M rows/s", (groups * rows) as f64 / seconds / 1e6);
    Ok(())
}
