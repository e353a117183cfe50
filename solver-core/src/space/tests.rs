//! Numbers and states are inverse to each other in every block kind, and a stored index that was
//! altered is refused.

use super::{Direction, LayoutOptions, Space, SpaceDef, build, load};
use crate::bfs::frontier::Frontier;
use crate::group::rng::SplitMix;
use crate::perm::Perm;
use crate::puzzle::{Generator, Metric, Puzzle, PuzzleOptions, resolve};
use crate::terms::{Digest, KernelChoice, Seen, ShardId};

fn named(spec: &str, root: Option<&str>) -> Puzzle {
    let options = PuzzleOptions {
        root: root.map(str::to_string),
        ..Default::default()
    };
    resolve(spec, &options).unwrap()
}

fn built(puzzle: &Puzzle, kind: Option<&str>, min_shards: u32) -> SpaceDef {
    let options = LayoutOptions {
        min_shards: Some(min_shards),
        kind: kind.map(str::to_string),
        depth: (kind == Some("sparse")).then_some(20),
        ..Default::default()
    };
    build(puzzle, &options).unwrap()
}

fn loaded(puzzle: &Puzzle, def: &SpaceDef) -> Box<dyn Space> {
    load(puzzle, def, KernelChoice::Portable).unwrap()
}

/// One position: its state is found there again, and moves by table and by raw permutation agree.
/// False for a position that no state has.
fn check(space: &dyn Space, puzzle: &Puzzle, shard: ShardId, position: u32) -> bool {
    let Some(state) = space.state(shard, position) else {
        return false;
    };
    assert_eq!(space.places_of(&state), [(shard, position)]);
    for (m, generator) in puzzle.generators().iter().enumerate() {
        let to = space.step(shard, position, m, false);
        assert_eq!(
            space.state(to.0, to.1).as_deref(),
            Some(generator.perm.apply(&state).as_slice())
        );
        assert_eq!(space.step(to.0, to.1, m, true), (shard, position));
    }
    true
}

fn positions(space: &dyn Space, shard: ShardId) -> u32 {
    let geometry = space.geometry(shard);
    geometry.blocks * geometry.words * 64
}

/// Every position of every shard; the states found are all there are, each once.
fn check_all(puzzle: &Puzzle, def: &SpaceDef) {
    let space = loaded(puzzle, def);
    let mut seen = std::collections::HashSet::new();
    for shard in (0..space.shards()).map(ShardId) {
        let mut states = 0;
        for position in 0..positions(space.as_ref(), shard) {
            if check(space.as_ref(), puzzle, shard, position) {
                states += 1;
                assert!(seen.insert(space.state(shard, position)));
            }
        }
        assert_eq!(states, space.geometry(shard).states, "{}", def.layout);
        assert_eq!(space.state(shard, positions(space.as_ref(), shard)), None);
    }
    assert_eq!(Some(seen.len().to_string()), def.states, "{}", def.layout);
}

/// Random positions of a large space.
fn check_some(puzzle: &Puzzle, def: &SpaceDef) {
    let space = loaded(puzzle, def);
    let mut rng = SplitMix(7);
    let mut found = 0;
    while found < 500 {
        let shard = ShardId(rng.below(space.shards() as usize) as u32);
        let position = rng.below(positions(space.as_ref(), shard) as usize) as u32;
        found += u32::from(check(space.as_ref(), puzzle, shard, position));
    }
}

#[test]
fn every_position_of_small_spaces() {
    let small = [
        ("topspin:7,4", None, "chain"),
        ("lrx:6", None, "chain"),
        ("pancake:6", None, "chain"),
        ("topspin:9,4", Some("0,0,0,0,0,1,1,1,1"), "product"),
        ("lrx:7", Some("0,0,1,1,2,2,2"), "product"),
    ];
    for (spec, root, kind) in small {
        let puzzle = named(spec, root);
        for shards in [1, 5] {
            let def = built(&puzzle, None, shards);
            assert_eq!(def.kind, kind, "{spec}");
            check_all(&puzzle, &def);
        }
        check_all(&puzzle, &built(&puzzle, Some("table"), 2));
    }
}

/// Independent coordinates: two rotating rings of 5 and 33 places with one marked place each.
#[test]
fn every_position_of_a_small_product() {
    let turn = |from: usize, to: usize| -> Perm {
        let images: Vec<u16> = (0..38)
            .map(|i| {
                let next = if i + 1 == to { from } else { i + 1 };
                if (from..to).contains(&i) {
                    next as u16
                } else {
                    i as u16
                }
            })
            .collect();
        Perm::from_images(&images).unwrap()
    };
    let generators = [turn(0, 5), turn(5, 38)]
        .into_iter()
        .enumerate()
        .map(|(k, perm)| Generator {
            name: format!("t{k}"),
            perm,
        })
        .collect();
    let root: Vec<u16> = (0..38).map(|i| u16::from(i == 0 || i == 5)).collect();
    let puzzle = Puzzle::new(
        "rings".into(),
        generators,
        vec![root.into()],
        Metric::Custom,
        vec![],
    )
    .unwrap();
    for shards in [1, 3] {
        let def = built(&puzzle, Some("product"), shards);
        assert_eq!(
            (def.kind.as_str(), def.states.as_deref()),
            ("product", Some("165"))
        );
        check_all(&puzzle, &def);
    }
}

#[test]
fn random_positions_of_large_spaces() {
    for (spec, root, kind) in [
        ("topspin:12,4", None, "chain"),
        ("pocket", None, "chain"),
        ("phase1", None, "product"),
        (
            "topspin:20,4",
            Some("0,0,0,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1,1"),
            "table",
        ),
    ] {
        let puzzle = named(spec, root);
        let def = built(&puzzle, None, 4);
        assert_eq!(def.kind, kind, "{spec}");
        check_some(&puzzle, &def);
    }
}

/// Cyclic groups: every order around whole words, so that superblocks end within a word.
#[test]
fn sizes_that_are_no_multiple_of_64() {
    for n in [1u16, 2, 7, 8, 31, 33, 63, 64, 65, 127, 129, 200] {
        let shift: Vec<u16> = (0..n).map(|i| (i + 1) % n).collect();
        let generator = Generator {
            name: "r".into(),
            perm: Perm::from_images(&shift).unwrap(),
        };
        let marked: Vec<u16> = (0..n).map(|i| u16::from(i == 0)).collect();
        for roots in [vec![], vec![marked.into()]] {
            let puzzle = Puzzle::new(
                "ring".into(),
                vec![generator.clone()],
                roots,
                Metric::Custom,
                vec![],
            )
            .unwrap();
            for shards in [1, 3] {
                let def = built(&puzzle, None, shards);
                check_all(&puzzle, &def);
                check_all(&puzzle, &built(&puzzle, Some("table"), shards));
            }
        }
    }
}

/// The shards that a move leads to and comes from are the ones the index says.
#[test]
fn sources_are_where_states_come_from() {
    let puzzle = named("topspin:8,4", None);
    let def = built(&puzzle, None, 8);
    let space = loaded(&puzzle, &def);
    assert!(space.shards() >= 8);
    for shard in (0..space.shards()).map(ShardId) {
        let mut found: Vec<ShardId> = (0..space.moves())
            .map(|m| space.step(shard, 0, m, true).0)
            .collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, space.sources(shard));
    }
    assert_eq!(Direction::Forward.opposite(), Direction::Backward);
}

#[test]
fn an_altered_index_is_refused() {
    let puzzle = named("topspin:8,4", None);
    let def = built(&puzzle, None, 8);
    let refused = |change: &dyn Fn(&mut SpaceDef)| {
        let mut other = def.clone();
        change(&mut other);
        load(&puzzle, &other, KernelChoice::Portable)
            .err()
            .unwrap()
            .to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut SpaceDef);
    let cases: [(Change<'_>, &str); 6] = [
        (&|d| d.shards += 1, "another block kind or number of shards"),
        (
            &|d| d.directed = !d.directed,
            "not closed under inverse as stored",
        ),
        (&|d| d.sources[3] = vec![0], "the source shards differ"),
        (
            &|d| d.shard_states[0] -= 1,
            "the sizes of the shards differ",
        ),
        (&|d| d.states = Some("40321".into()), "do not add up"),
        (&|d| d.body.truncate(100), "EOF"),
    ];
    for (change, why) in cases {
        let message = refused(change);
        assert!(
            message.starts_with("the stored index does not fit the puzzle: ")
                && message.contains(why),
            "{message}"
        );
    }
    let other = named("topspin:9,4", None);
    let message = load(&other, &def, KernelChoice::Portable)
        .err()
        .unwrap()
        .to_string();
    assert!(message.contains("another number of positions"), "{message}");
    let inverse_list = named("lrx:8", None);
    let message = load(&inverse_list, &def, KernelChoice::Portable)
        .err()
        .unwrap();
    assert!(message.to_string().contains("differ"), "{message}");
}

/// The visited set's digest is the sum of its levels' digests: the cluster knows it without the set.
#[test]
fn digests_of_disjoint_sets_add_up() {
    let two = Some("0,0,0,0,0,0,1,1,1,1,1,1");
    for (spec, root, kind) in [
        ("lx:8", None, "chain"),
        ("lx:8", None, "table"),
        ("lx:8", None, "sparse"),
        ("lx:12", two, "product"),
    ] {
        let puzzle = named(spec, root);
        let def = built(&puzzle, Some(kind), 4);
        assert!(def.directed);
        let space = loaded(&puzzle, &def);
        let shards: Vec<ShardId> = (0..space.shards()).map(ShardId).collect();
        let mut now: Vec<Frontier> = shards.iter().map(|&s| space.roots(s)).collect();
        let mut visited = now.clone();
        let mut sums: Vec<Digest> = shards
            .iter()
            .zip(&now)
            .map(|(&s, f)| space.digest(s, f))
            .collect();
        for level in 1..=20 {
            let sources: Vec<(ShardId, &Frontier)> = shards.iter().copied().zip(&now).collect();
            let mut next = Vec::new();
            for (k, &s) in shards.iter().enumerate() {
                let seen = Seen::Visited(visited[k].clone());
                let by = crate::space::By {
                    device: None,
                    samples: 5,
                };
                let out = space.expand(level, s, &sources, &now[k], seen, by).unwrap();
                sums[k] = sums[k].plus(out.digest);
                visited[k] = out.visited.unwrap();
                assert_eq!(space.digest(s, &out.frontier), out.digest, "{spec} {kind}");
                assert_eq!(space.digest(s, &visited[k]), sums[k], "{spec} {kind}");
                next.push(out.frontier);
            }
            now = next;
        }
    }
}
