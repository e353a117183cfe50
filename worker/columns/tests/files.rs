//! What is written is read back, the bytes are those of the rows alone, and what does not fit is refused.

use antipode_columns::parquet_in::Reader;
use antipode_columns::parquet_out::{Options, Writer};
use antipode_columns::{Batch, Cell, Column, Field, Kind, Values, json_lines, npy};
use bytes::Bytes;

fn fields() -> Vec<Field> {
    vec![
        Field::new(
            "state",
            Kind::Vector {
                cell: Cell::U8,
                len: 3,
            },
        ),
        Field::new(
            "wide",
            Kind::Vector {
                cell: Cell::U16,
                len: 2,
            },
        ),
        Field::new(
            "word",
            Kind::Ragged {
                cell: Cell::U8,
                longest: 4,
            },
        )
        .nullable(),
        Field::new("depth", Kind::I32).nullable(),
        Field::new("key", Kind::U64),
        Field::new("value", Kind::F64),
        Field::new("solved", Kind::Bool),
    ]
}

fn rows() -> Batch {
    let full = Column::full;
    Batch {
        columns: vec![
            full(Values::Vector {
                cell: Cell::U8,
                len: 3,
                bytes: vec![0, 1, 2, 2, 0, 1, 1, 2, 0],
            }),
            full(Values::Vector {
                cell: Cell::U16,
                len: 2,
                bytes: vec![1, 0, 0, 1, 2, 0, 3, 0, 255, 255, 4, 0],
            }),
            Column {
                values: Values::Ragged {
                    cell: Cell::U8,
                    ends: vec![2, 2, 2],
                    bytes: vec![5, 6],
                },
                valid: Some(vec![true, true, false]),
            },
            Column {
                values: Values::I32(vec![7, 0, 9]),
                valid: Some(vec![true, false, true]),
            },
            full(Values::U64(vec![1, u64::MAX, 3])),
            full(Values::F64(vec![0.5, -1.0, 1e300])),
            full(Values::Bool(vec![true, false, true])),
        ],
    }
}

fn parquet(lists: bool) -> Vec<u8> {
    let options = Options {
        lists,
        metadata: vec![("puzzle".into(), "toy".into())],
    };
    let mut writer = Writer::new(Vec::new(), &fields(), &options).unwrap();
    writer.write(vec![rows()]).unwrap();
    writer.write(vec![rows()]).unwrap();
    writer.finish().unwrap()
}

#[test]
fn parquet_is_read_back_binary_and_as_lists() {
    for lists in [false, true] {
        let bytes = parquet(lists);
        assert_eq!(bytes, parquet(lists), "the same rows give the same bytes");
        let reader = Reader::open(Bytes::from(bytes)).unwrap();
        assert_eq!(reader.rows(), 6);
        assert_eq!(reader.group_rows(), [3, 3]);
        assert_eq!(reader.metadata("puzzle"), Some("toy"));
        assert_eq!(reader.columns()[2], "word");
        for group in 0..2 {
            assert_eq!(
                reader.vectors(group, "state", 1).unwrap(),
                [0, 1, 2, 2, 0, 1, 1, 2, 0]
            );
            assert_eq!(
                reader.vectors(group, "wide", 2).unwrap(),
                [1, 0, 0, 1, 2, 0, 3, 0, 255, 255, 4, 0]
            );
            assert_eq!(
                reader.integers(group, "depth").unwrap(),
                [Some(7), None, Some(9)]
            );
            assert_eq!(reader.integers(group, "key").unwrap()[1], Some(-1));
            assert_eq!(
                reader.doubles(group, "value").unwrap(),
                [Some(0.5), Some(-1.0), Some(1e300)]
            );
            if !lists {
                let word = reader.binaries(group, "word").unwrap();
                assert_eq!(word, [Some(vec![5, 6]), Some(vec![]), None]);
            }
            assert!(reader.doubles(group, "depth").is_err());
            assert!(reader.integers(group, "no such").is_err());
        }
    }
    assert!(Reader::open(Bytes::from_static(b"PAR1 but no more")).is_err());
}

#[test]
fn a_row_group_may_come_in_pieces() {
    for lists in [false, true] {
        let options = Options {
            lists,
            metadata: Vec::new(),
        };
        let mut writer = Writer::new(Vec::new(), &fields(), &options).unwrap();
        writer.write(vec![rows(), rows()]).unwrap();
        let reader = Reader::open(Bytes::from(writer.finish().unwrap())).unwrap();
        assert_eq!(reader.group_rows(), [6]);
        let depths = [Some(7), None, Some(9), Some(7), None, Some(9)];
        assert_eq!(reader.integers(0, "depth").unwrap(), depths);
        let states = reader.vectors(0, "state", 1).unwrap();
        assert_eq!(states[..9], states[9..]);
    }
}

#[test]
fn json_lines_are_objects() {
    let mut out = Vec::new();
    json_lines::write(&mut out, &fields(), &rows()).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"state":[0,1,2],"wide":[1,256],"word":[5,6],"depth":7,"key":1,"value":0.5,"solved":true}"#
    );
    assert_eq!(
        lines[2],
        r#"{"state":[1,2,0],"wide":[65535,4],"word":null,"depth":9,"key":3,"value":1e+300,"solved":true}"#
    );
}

#[test]
fn npy_has_a_structured_type_and_padded_words() {
    let mut writer = npy::Writer::new(Vec::new(), &fields(), 3).unwrap();
    writer.write(&rows()).unwrap();
    assert!(writer.write(&rows()).is_err(), "more rows than announced");
    let bytes = writer.finish().unwrap_or_default();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 10;
    assert_eq!(header % 64, 0);
    let text = String::from_utf8_lossy(&bytes[10..header]);
    assert!(
        text.contains("('word', '<i2', (4,))") && text.contains("'shape': (3,)"),
        "{text}"
    );
    let row = 3 + 4 + 8 + 4 + 8 + 8 + 1;
    assert_eq!(bytes.len(), header + 3 * row);
    assert_eq!(
        bytes[header + 7..header + 15],
        [5, 0, 6, 0, 255, 255, 255, 255]
    );
    assert_eq!(
        bytes[header + row + 15..header + row + 19],
        [255, 255, 255, 255]
    );
    let short = npy::Writer::new(Vec::new(), &fields(), 3).unwrap();
    assert!(short.finish().is_err(), "fewer rows than announced");
}

#[test]
fn floats_are_read_and_other_files_named() {
    let fields = [Field::new("v", Kind::F64)];
    let mut writer = npy::Writer::new(Vec::new(), &fields, 2).unwrap();
    let values = Values::F64(vec![1.5, f64::NAN]);
    writer
        .write(&Batch {
            columns: vec![Column::full(values)],
        })
        .unwrap();
    let bytes = writer.finish().unwrap();
    let mut source = bytes.as_slice();
    let header = npy::read_header(&mut source).unwrap();
    assert_eq!((header.shape.as_slice(), header.width), ([2].as_slice(), 8));
    let mut out = [0.0; 2];
    header.read(&mut source, &mut out).unwrap();
    assert!(out[0] == 1.5 && out[1].is_nan());
    assert!(header.read(&mut source, &mut out).is_err(), "the file ends");

    let wrong = |dictionary: &str, expect: &str| {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((dictionary.len() as u16).to_le_bytes());
        file.extend(dictionary.as_bytes());
        let message = npy::read_header(&mut file.as_slice())
            .unwrap_err()
            .to_string();
        assert!(message.contains(expect), "{message}");
    };
    wrong(
        "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }",
        "'<i8'",
    );
    wrong(
        "{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }",
        "C order",
    );
    wrong(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, x), }",
        "shape",
    );
    wrong(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
        "too large",
    );
    assert!(npy::read_header(&mut b"PAR1....".as_slice()).is_err());
}

#[test]
fn columns_that_do_not_fit_are_named() {
    let mut batch = rows();
    batch.columns[3] = Column::full(Values::I32(vec![1]));
    let message = batch.check(&fields()).unwrap_err().to_string();
    assert!(
        message.contains("depth") && message.contains("1 rows"),
        "{message}"
    );
    let mut batch = rows();
    batch.columns[4].valid = Some(vec![true; 3]);
    assert!(
        batch
            .check(&fields())
            .unwrap_err()
            .to_string()
            .contains("key")
    );
    let mut batch = rows();
    batch.columns[0] = Column::full(Values::Bool(vec![true; 3]));
    assert!(batch.check(&fields()).is_err());
}
