//! Roots and colourings: as text, checked, and made dense after a projection.

use super::checked::State;

/// One or more roots separated by `;`, each a digit string or comma-separated labels.
pub(crate) fn parse(text: &str, degree: usize) -> Result<Vec<State>, String> {
    let mut out: Vec<State> = Vec::new();
    for (k, part) in text.split(';').enumerate() {
        let place = format!("root {}", k + 1);
        let root: State = labels(part.trim())
            .map_err(|e| format!("{place}: {e}"))?
            .into();
        if let Some(first) = out.iter().position(|r| *r == root) {
            return Err(format!(
                "{place} is the same as root {}; leave one out",
                first + 1
            ));
        }
        check(&root, degree).map_err(|e| format!("{place}: {e}"))?;
        out.push(root);
    }
    Ok(out)
}

/// `0011` or `0,0,1,1`.
pub(crate) fn labels(text: &str) -> Result<Vec<u16>, String> {
    if text.is_empty() {
        return Err("it is empty; give one label for each position".into());
    }
    if !text.contains(',') && text.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(text.bytes().map(|b| u16::from(b - b'0')).collect());
    }
    text.split(',')
        .enumerate()
        .map(|(at, label)| {
            let label = label.trim();
            label.parse().map_err(|_| {
                format!("entry {at} is {label:?}; a label is a number from 0 to 65535, as in 0,0,1,1 or 0011")
            })
        })
        .collect()
}

/// A root has one label for each position, and (with two positions and more) two different ones.
pub(crate) fn check(root: &[u16], degree: usize) -> Result<(), String> {
    if root.len() != degree {
        return Err(format!(
            "{} labels for {degree} positions; give exactly one label for each position",
            root.len()
        ));
    }
    if degree > 1 && root.iter().all(|&l| l == root[0]) {
        return Err(format!(
            "all {degree} positions have the label {}, so every move leaves it as it is; use two labels at least",
            root[0]
        ));
    }
    Ok(())
}

/// Labels replaced by their rank among all that occur, so that they are `0..k` again and keep their order.
pub(crate) fn dense(roots: &mut [State]) {
    let mut used: Vec<u16> = roots.iter().flat_map(|r| r.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    for label in roots.iter_mut().flat_map(|r| r.iter_mut()) {
        // Found: `used` holds every label.
        *label = used.partition_point(|&u| u < *label) as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_to_roots() {
        let root = |labels: &[u16]| -> State { labels.into() };
        assert_eq!(parse("0011", 4).unwrap(), [root(&[0, 0, 1, 1])]);
        assert_eq!(
            parse("10, 0,0,1;0101", 4).unwrap(),
            [root(&[10, 0, 0, 1]), root(&[0, 1, 0, 1])]
        );
        for (text, expect) in [
            ("011", "3 labels for 4 positions"),
            ("1111", "all 4 positions have the label 1"),
            ("0,1,x,1", "entry 2 is \"x\""),
            ("0,1,70000,1", "entry 2"),
            ("0011;0011", "root 2 is the same as root 1"),
            ("0011;", "root 2: it is empty"),
        ] {
            let error = parse(text, 4).unwrap_err();
            assert!(error.contains(expect), "{text}: {error}");
        }
    }

    #[test]
    fn dense_labels_keep_their_order() {
        let mut roots: Vec<State> = vec![[7, 3, 9].into(), [3, 3, 20].into()];
        dense(&mut roots);
        assert_eq!(roots, [State::from([1, 0, 2]), State::from([0, 0, 3])]);
    }
}
