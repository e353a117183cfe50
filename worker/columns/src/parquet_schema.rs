//! Columns as Parquet types.

use crate::column::{Cell, Field, Kind};
use parquet::basic::{IntType, LogicalType, Repetition, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// The type of a file's rows. Vectors are fixed-length binary and ragged columns binary, or lists where `lists`.
pub(crate) fn message(fields: &[Field], lists: bool) -> Result<TypePtr> {
    let fields = fields
        .iter()
        .map(|f| field(f, lists).map(Arc::new))
        .collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(
        Type::group_type_builder("rows")
            .with_fields(fields)
            .build()?,
    ))
}

fn integer(bits: i8, signed: bool) -> Option<LogicalType> {
    Some(LogicalType::Integer(IntType {
        bit_width: bits,
        is_signed: signed,
    }))
}

fn field(field: &Field, lists: bool) -> Result<Type> {
    let repetition = if field.nullable {
        Repetition::OPTIONAL
    } else {
        Repetition::REQUIRED
    };
    let plain =
        |physical| Type::primitive_type_builder(&field.name, physical).with_repetition(repetition);
    match field.kind {
        Kind::Vector { cell, .. } | Kind::Ragged { cell, .. } if lists => {
            let element = match cell {
                Cell::Bool => Type::primitive_type_builder("element", Physical::BOOLEAN),
                Cell::U8 => Type::primitive_type_builder("element", Physical::INT32)
                    .with_logical_type(integer(8, false)),
                Cell::U16 => Type::primitive_type_builder("element", Physical::INT32)
                    .with_logical_type(integer(16, false)),
            }
            .with_repetition(Repetition::REQUIRED)
            .build()?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            Type::group_type_builder(&field.name)
                .with_repetition(repetition)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()
        }
        Kind::Vector { cell, len } => plain(Physical::FIXED_LEN_BYTE_ARRAY)
            .with_length(i32::try_from(cell.bytes() * len).unwrap_or(i32::MAX))
            .build(),
        Kind::Ragged { .. } => plain(Physical::BYTE_ARRAY).build(),
        Kind::I32 => plain(Physical::INT32).build(),
        Kind::I64 => plain(Physical::INT64).build(),
        Kind::U64 => plain(Physical::INT64)
            .with_logical_type(integer(64, false))
            .build(),
        Kind::F64 => plain(Physical::DOUBLE).build(),
        Kind::Bool => plain(Physical::BOOLEAN).build(),
        Kind::Text => plain(Physical::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .build(),
    }
}
