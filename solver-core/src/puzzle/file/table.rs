//! A table of a TOML document with its entries in the order of the text, and messages that name the line.

use super::{FileError, line_of};
use crate::puzzle::checked::State;
use crate::puzzle::roots;
use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};

pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// One table of the document, its entries in the order of the text.
pub(super) struct Table<'a> {
    pub text: &'a str,
    /// Where it is, for messages: empty for the document, else `[turns]`.
    pub place: String,
    pub entries: Vec<(String, usize, &'a Value<'a>)>,
}

impl<'a> Table<'a> {
    pub fn new(text: &'a str, place: &str, table: &'a DeTable<'a>) -> Table<'a> {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(k, v)| (k.get_ref().to_string(), k.span().start, v))
            .collect();
        entries.sort_by_key(|e| e.1);
        Table {
            text,
            place: place.to_owned(),
            entries,
        }
    }

    pub fn wrong(
        &self,
        value: &Value<'_>,
        key: &str,
        message: impl std::fmt::Display,
    ) -> FileError {
        let place = if self.place.is_empty() {
            key.to_owned()
        } else {
            format!("{} {key}", self.place)
        };
        FileError::at(
            line_of(self.text, value.span().start),
            format!("{place}: {message}"),
        )
    }

    pub fn find(&self, key: &str) -> Option<&'a Value<'a>> {
        self.entries
            .iter()
            .find(|(k, ..)| k == key)
            .map(|(.., v)| *v)
    }

    /// Refuses keys that are not among `known`.
    pub fn only(&self, known: &[&str]) -> Result<(), FileError> {
        for (key, at, _) in &self.entries {
            if !known.contains(&key.as_str()) {
                let hint = match crate::puzzle::text::nearest(key, known.iter().copied()) {
                    Some(near) => format!("; did you mean {near}?"),
                    None => String::new(),
                };
                let place = if self.place.is_empty() {
                    String::new()
                } else {
                    format!("{}: ", self.place)
                };
                return Err(FileError::at(
                    line_of(self.text, *at),
                    format!(
                        "{place}the key {key:?} is unknown{hint} (known keys: {})",
                        known.join(", ")
                    ),
                ));
            }
        }
        Ok(())
    }

    pub fn text(&self, key: &str) -> Result<Option<String>, FileError> {
        self.find(key)
            .map(|v| {
                v.get_ref()
                    .as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| self.wrong(v, key, "it must be text in quotes"))
            })
            .transpose()
    }

    pub fn flag(&self, key: &str) -> Result<bool, FileError> {
        match self.find(key) {
            None => Ok(false),
            Some(v) => v
                .get_ref()
                .as_bool()
                .ok_or_else(|| self.wrong(v, key, "it must be true or false")),
        }
    }

    pub fn number(&self, key: &str) -> Result<Option<usize>, FileError> {
        self.find(key)
            .map(|v| {
                integer(v.get_ref())
                    .and_then(|n| usize::try_from(n).ok())
                    .ok_or_else(|| self.wrong(v, key, "it must be a number from 0 on"))
            })
            .transpose()
    }

    pub fn table(&self, key: &str) -> Result<Option<Table<'a>>, FileError> {
        self.find(key)
            .map(|v| match v.get_ref() {
                DeValue::Table(t) => Ok(Table::new(self.text, &format!("[{key}]"), t)),
                _ => Err(self.wrong(v, key, format!("it must be a table, [{key}]"))),
            })
            .transpose()
    }

    /// A labelling: a list of labels or a digit string.
    pub fn labels(&self, key: &str, value: &Value<'_>) -> Result<State, FileError> {
        if let Some(text) = value.get_ref().as_str() {
            return roots::labels(text)
                .map(Into::into)
                .map_err(|e| self.wrong(value, key, e));
        }
        let list = self.numbers(key, value)?.ok_or_else(|| {
            self.wrong(
                value,
                key,
                "it must be a list of labels such as [0, 0, 1, 1] or a digit string \"0011\"",
            )
        })?;
        list.iter()
            .enumerate()
            .map(|(at, &n)| {
                u16::try_from(n).map_err(|_| {
                    self.wrong(
                        value,
                        key,
                        format!("entry {at} is {n}; a label is a number from 0 to 65535"),
                    )
                })
            })
            .collect()
    }

    /// The entries of a list of numbers; `None` where it is no list.
    pub fn numbers(&self, key: &str, value: &Value<'_>) -> Result<Option<Vec<u64>>, FileError> {
        let DeValue::Array(list) = value.get_ref() else {
            return Ok(None);
        };
        let number = |(at, v): (usize, &Value<'_>)| {
            integer(v.get_ref())
                .ok_or_else(|| self.wrong(v, key, format!("entry {at} is no number from 0 on")))
        };
        list.iter()
            .enumerate()
            .map(number)
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

/// A whole number from 0 on.
pub(super) fn integer(value: &DeValue<'_>) -> Option<u64> {
    let n = value.as_integer()?;
    u64::from_str_radix(n.as_str(), n.radix()).ok()
}
