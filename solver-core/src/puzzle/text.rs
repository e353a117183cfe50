//! Small things for messages: the nearest known word, lists, and splitting what a user typed.

/// The candidate that takes the fewest edits, if that is few enough to be a typing mistake.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let (edits, best) = candidates
        .into_iter()
        .map(|c| (edit_distance(&word, &c.to_lowercase()), c))
        .min_by_key(|&(edits, _)| edits)?;
    (edits < letters && edits <= 1 + letters / 4).then_some(best)
}

/// Insertions, deletions, replacements and swaps of neighbours from `a` to `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

/// Names in a row for a message; long lists are cut after `limit`.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>, limit: usize) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let mut out = names[..names.len().min(limit)].join(", ");
    if names.len() > limit {
        out.push_str(&format!(", ... ({} in all)", names.len()));
    }
    out
}

/// Parts between commas, except commas inside brackets: `(0,1),T[0..1,2]` has two parts.
pub(crate) fn split_outside_brackets(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_mistake_is_recognised() {
        let names = ["topspin", "pancake", "pocket"];
        assert_eq!(nearest("topsipn", names), Some("topspin"));
        assert_eq!(nearest("Pancakes", names), Some("pancake"));
        assert_eq!(nearest("sudoku", names), None);
        assert_eq!(nearest("Q", ["U", "R"]), None);
    }

    #[test]
    fn commas_in_brackets_do_not_split() {
        assert_eq!(
            split_outside_brackets("(0,1), T[0..1,2],x"),
            ["(0,1)", "T[0..1,2]", "x"]
        );
        assert_eq!(split_outside_brackets(""), [""]);
    }
}
