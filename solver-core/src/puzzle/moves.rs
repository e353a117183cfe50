//! Which generators `--metric` and `--moves` select: powers of base turns, single moves, words.

use super::checked::{Generator, Metric, TurnNote};
use super::definition::{Definition, Moves, Turn, Turns};
use super::options::PuzzleOptions;
use super::{cube, names, text};
use crate::perm::Perm;

/// The generators that moves and metric select.
pub(super) struct Chosen {
    pub generators: Vec<Generator>,
    pub metric: Metric,
    pub notes: Vec<TurnNote>,
}

/// The moves of a definition under `--metric` and `--moves`.
pub(super) fn choose_moves(
    definition: &Definition,
    options: &PuzzleOptions,
) -> Result<Chosen, String> {
    match &definition.moves {
        Moves::List {
            generators,
            aliases,
        } => {
            if let Some(metric) = &options.metric {
                return Err(format!(
                    "--metric {metric} needs a puzzle that marks base turns (cubes, pyraminx, ...); \
                     here every generator is one step: {}",
                    text::list(generators.iter().map(|g| g.name.as_str()), 12)
                ));
            }
            let (generators, metric) = match options.moves.as_deref().map(str::trim) {
                None | Some("all") => (generators.clone(), Metric::Generators),
                Some(moves) => (from_list(moves, generators, aliases)?, Metric::Custom),
            };
            Ok(Chosen {
                generators,
                metric,
                notes: Vec::new(),
            })
        }
        Moves::Turns(turns) => {
            let metric = match &options.metric {
                None => turns.default_metric,
                Some(word) => turns.metric(word)?,
            };
            match options.moves.as_deref().map(str::trim) {
                None => turns.default_moves(metric, metric == Metric::Slice),
                Some("all") => turns.default_moves(metric, true),
                Some(moves) => turns.listed_moves(metric, moves),
            }
        }
    }
}

/// Moves of a puzzle without base turns: each name is one generator, a word in spaces a product.
fn from_list(
    moves: &str,
    generators: &[Generator],
    aliases: &[(String, String)],
) -> Result<Vec<Generator>, String> {
    let find = |token: &str| -> Result<&Generator, String> {
        let wanted = names::plain_primes(token);
        let wanted = aliases
            .iter()
            .find(|(other, _)| *other == wanted)
            .map_or(&wanted, |(_, name)| name);
        generators
            .iter()
            .find(|g| names::plain_primes(&g.name) == *wanted)
            .ok_or_else(|| {
                unknown_move(
                    token,
                    generators.iter().map(|g| g.name.as_str()).collect(),
                    "",
                )
            })
    };
    let mut out = Vec::new();
    for item in text::split_outside_brackets(moves) {
        let generator = match (find(item), words(item)) {
            (Ok(g), _) => g.clone(),
            (Err(_), Some(tokens)) => {
                let letters = tokens
                    .iter()
                    .map(|t| find(t).cloned())
                    .collect::<Result<Vec<_>, _>>()?;
                product(&letters)
            }
            (Err(e), None) => return Err(e),
        };
        add(&mut out, generator, item)?;
    }
    Ok(out)
}

/// The moves of an item that holds several, such as `R L'` or `(R L')`.
fn words(item: &str) -> Option<Vec<&str>> {
    let inner = item
        .strip_prefix('(')
        .and_then(|s| s.strip_suffix(')'))
        .unwrap_or(item);
    let tokens: Vec<&str> = inner.split_whitespace().collect();
    (tokens.len() > 1).then_some(tokens)
}

fn product(letters: &[Generator]) -> Generator {
    let names: Vec<&str> = letters.iter().map(|g| g.name.as_str()).collect();
    let start = Perm::identity(letters[0].perm.len());
    Generator {
        name: format!("({})", names.join(" ")),
        perm: letters.iter().fold(start, |p, g| p.then(&g.perm)),
    }
}

fn add(out: &mut Vec<Generator>, generator: Generator, item: &str) -> Result<(), String> {
    if out.iter().any(|g| g.name == generator.name) {
        return Err(format!(
            "--moves names {} twice (the second time in {item:?}); name it once. \
             A bare base turn stands for all its powers",
            generator.name
        ));
    }
    out.push(generator);
    Ok(())
}

fn unknown_move(token: &str, known: Vec<&str>, more: &str) -> String {
    let hint = match text::nearest(token, known.iter().copied()) {
        Some(near) => format!(" (did you mean {near}?)"),
        None => String::new(),
    };
    let what = if token.is_empty() {
        "--moves has an empty entry".into()
    } else {
        format!("there is no move {token}")
    };
    format!(
        "{what}{hint}; the moves are {}{more}",
        text::list(known, 30)
    )
}

impl Turns {
    fn has_slices(&self) -> bool {
        self.cube.is_some() || self.turns.iter().any(|t| t.slice)
    }

    fn metric(&self, word: &str) -> Result<Metric, String> {
        match word.trim().to_ascii_lowercase().as_str() {
            "qtm" => Ok(Metric::Quarter),
            "htm" => Ok(Metric::Half),
            "stm" if self.has_slices() => Ok(Metric::Slice),
            "stm" => Err(
                "--metric stm needs slices, and this puzzle has none; there are qtm, htm".into(),
            ),
            _ => Err(format!(
                "there is no metric {word}; there are qtm (base turns both ways){}",
                if self.has_slices() {
                    ", htm (all powers of the base turns), stm (htm and the slices)"
                } else {
                    " and htm (all powers of the base turns)"
                }
            )),
        }
    }

    /// The powers of a turn that are one step in the metric.
    fn powers(&self, metric: Metric, order: u32) -> Vec<u32> {
        match metric {
            Metric::Half | Metric::Slice => (1..order).collect(),
            _ if order == 2 => vec![1],
            _ => vec![1, order - 1],
        }
    }

    fn default_moves(&self, metric: Metric, with_slices: bool) -> Result<Chosen, String> {
        let turns: Vec<&Turn> = self
            .turns
            .iter()
            .filter(|t| with_slices || !t.slice)
            .collect();
        let mut generators: Vec<Generator> = Vec::new();
        for turn in &turns {
            generators.extend(
                self.powers(metric, turn.order)
                    .into_iter()
                    .map(|k| turn.power(k)),
            );
        }
        if self.inverses_last && metric == Metric::Quarter {
            let (plain, inverse): (Vec<_>, Vec<_>) = generators
                .into_iter()
                .partition(|g| turns.iter().any(|t| t.name == g.name));
            generators = [plain, inverse].concat();
        }
        Ok(Chosen {
            generators,
            metric,
            notes: turns.into_iter().map(Turn::note).collect(),
        })
    }

    fn listed_moves(&self, metric: Metric, moves: &str) -> Result<Chosen, String> {
        let mut chosen = Chosen {
            generators: Vec::new(),
            metric,
            notes: Vec::new(),
        };
        for item in text::split_outside_brackets(moves) {
            if let Some(tokens) = words(item) {
                chosen.metric = Metric::Custom;
                let mut letters = Vec::new();
                for token in tokens {
                    let (turn, power) = self.find(token)?;
                    letters.push(turn.power(power.unwrap_or(1)));
                    note(&mut chosen.notes, &turn);
                }
                add(&mut chosen.generators, product(&letters), item)?;
                continue;
            }
            let (turn, power) = self.find(item)?;
            note(&mut chosen.notes, &turn);
            match power {
                Some(power) => {
                    chosen.metric = Metric::Custom;
                    add(&mut chosen.generators, turn.power(power), item)?;
                }
                None => {
                    for power in self.powers(metric, turn.order) {
                        add(&mut chosen.generators, turn.power(power), item)?;
                    }
                }
            }
        }
        Ok(chosen)
    }

    /// The base turn of a token and, where a suffix is written, its power in `1..order`.
    fn find(&self, token: &str) -> Result<(Turn, Option<u32>), String> {
        let mut complaint = None;
        for reading in names::readings(token) {
            let turn = match self.turns.iter().find(|t| t.name == reading.base) {
                Some(turn) => turn.clone(),
                None => match self.cube.map(|n| cube::word(n, reading.base)) {
                    Some(Ok(turn)) => turn,
                    Some(Err(cube::WordError::Refused(why))) => {
                        complaint.get_or_insert(why);
                        continue;
                    }
                    Some(Err(cube::WordError::NoName)) | None => continue,
                },
            };
            let Some(power) = reading.power else {
                return Ok((turn, None));
            };
            let power = power.rem_euclid(i64::from(turn.order)) as u32;
            if power == 0 {
                return Err(format!(
                    "{token} does nothing: {} has order {}",
                    turn.name, turn.order
                ));
            }
            return Ok((turn, Some(power)));
        }
        Err(complaint.unwrap_or_else(|| {
            let more = if self.cube.is_some() {
                " and words such as 2R, Rw, r, x"
            } else {
                ""
            };
            let more = format!("{more}, each with a suffix ', 2 or none");
            unknown_move(
                token,
                self.turns.iter().map(|t| t.name.as_str()).collect(),
                &more,
            )
        }))
    }
}

impl Turn {
    fn power(&self, power: u32) -> Generator {
        Generator {
            name: names::power_name(&self.name, power, self.order),
            perm: self.perm.power(power),
        }
    }

    fn note(&self) -> TurnNote {
        TurnNote {
            name: self.name.clone(),
            order: self.order,
            about: self.about.clone(),
        }
    }
}

fn note(notes: &mut Vec<TurnNote>, turn: &Turn) {
    if notes.iter().all(|n| n.name != turn.name) {
        notes.push(turn.note());
    }
}
