//! What the system tells about itself, so that the end of a process can be explained at its next start:
//! which boot this is, and how often it killed processes for want of memory.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// The machine at one moment. Empty where the system does not tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Differs after every boot.
    pub boot: String,
    /// Kills for want of memory, counted by the control group we are in and each one around it, by the
    /// file that says so.
    groups: BTreeMap<String, u64>,
    /// The same for the whole machine.
    whole: Option<u64>,
}

impl Machine {
    pub fn now() -> Machine {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        Machine {
            boot: read("/proc/sys/kernel/random/boot_id").trim().into(),
            groups: group_files(&read("/proc/self/cgroup"))
                .into_iter()
                .filter_map(|file| Some((file.clone(), kills(&read(&file))?)))
                .collect(),
            whole: kills(&read("/proc/vmstat")),
        }
    }

    /// Did the machine start again since `before`?
    pub fn is_another_boot(&self, before: &Machine) -> bool {
        !before.boot.is_empty() && !self.boot.is_empty() && before.boot != self.boot
    }

    /// Did the system kill for want of memory since `before`, in our control groups, or (where those
    /// say nothing) anywhere?
    pub fn killed_since(&self, before: &Machine) -> bool {
        // A smaller number means that the group was made anew: it says nothing.
        let both: Vec<(u64, u64)> = self
            .groups
            .iter()
            .filter_map(|(file, now)| Some((*before.groups.get(file)?, *now)))
            .filter(|(before, now)| before <= now)
            .collect();
        if both.is_empty() {
            return matches!((before.whole, self.whole), (Some(b), Some(n)) if n > b);
        }
        both.iter().any(|(before, now)| now > before)
    }
}

/// The files that count kills, of the group of this process and all around it.
fn group_files(memberships: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in memberships.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(group)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (roots, file): (&[&str], &str) = match controllers {
            "" => (
                &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
                "memory.events",
            ),
            _ if controllers.split(',').any(|c| c == "memory") => {
                (&["/sys/fs/cgroup/memory"], "memory.oom_control")
            }
            _ => continue,
        };
        for root in roots {
            for around in Path::new(group).ancestors() {
                let inside = around.strip_prefix("/").unwrap_or(around);
                files.push(
                    Path::new(root)
                        .join(inside)
                        .join(file)
                        .display()
                        .to_string(),
                );
            }
        }
    }
    files
}

/// The number behind `oom_kill`.
fn kills(text: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix("oom_kill "))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(boot: &str, groups: &[(&str, u64)], whole: Option<u64>) -> Machine {
        Machine {
            boot: boot.into(),
            groups: groups.iter().map(|(f, n)| (f.to_string(), *n)).collect(),
            whole,
        }
    }

    #[test]
    fn the_files_of_all_groups_around_are_found() {
        let files = group_files("5:cpu:/x\n4:memory:/m\n0::/a/b\nnonsense\n");
        assert_eq!(
            files[..2],
            [
                "/sys/fs/cgroup/memory/m/memory.oom_control",
                "/sys/fs/cgroup/memory/memory.oom_control"
            ]
        );
        for file in [
            "/sys/fs/cgroup/a/b/memory.events",
            "/sys/fs/cgroup/a/memory.events",
            "/sys/fs/cgroup/memory.events",
        ] {
            assert!(files.iter().any(|f| f == file), "{file} of {files:?}");
        }
        assert_eq!(kills("low 0\noom 3\noom_kill 2\n"), Some(2));
        assert_eq!(kills("low 0\n"), None);
    }

    #[test]
    fn groups_know_better_than_the_whole_machine() {
        let before = machine("b", &[("own", 1), ("around", 4)], Some(9));
        let same = machine("b", &[("own", 1), ("around", 4)], Some(10));
        assert!(!same.killed_since(&before), "somebody else's process");
        let ours = machine("b", &[("own", 2), ("around", 5)], Some(10));
        assert!(ours.killed_since(&before));
        // The own group was made anew; the one around it has counted on.
        let anew = machine("b", &[("own", 0), ("around", 5)], Some(10));
        assert!(anew.killed_since(&before));
        let elsewhere = machine("b", &[("other", 0)], Some(10));
        assert!(elsewhere.killed_since(&before), "only the machine tells");
        assert!(!machine("b", &[], None).killed_since(&before));
    }

    #[test]
    fn another_boot_is_told_only_where_both_are_known() {
        let [one, two, unknown] = ["a", "b", ""].map(|boot| machine(boot, &[], None));
        assert!(two.is_another_boot(&one) && !one.is_another_boot(&one));
        assert!(!unknown.is_another_boot(&one) && !one.is_another_boot(&unknown));
    }
}
