//! The layer itself: its rules, its barriers, and that the validation layer does listen.

use super::{Buffer, Choice, Device, Kind, Options, Place, Settings, Step, Vulkan};
use crate::error::GpuError;
use ash::vk;

/// A device with the validation layer; none where there is none, which is said, and fails in CI.
fn open() -> Option<(Vulkan, Device)> {
    let options = Options {
        validation: true,
        ..Options::default()
    };
    let opened = Vulkan::load(&options).and_then(|vulkan| {
        let software = vulkan.devices().find(|info| info.kind == Kind::Software);
        let choice = software.map_or(Choice::Auto, |info| Choice::Index(info.index));
        let device = vulkan.open(choice, Settings::default())?;
        Ok((vulkan, device))
    });
    match opened {
        Ok(opened) => Some(opened),
        Err(error) => {
            let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!in_ci, "{error}");
            eprintln!("NOT TESTED: {error}");
            None
        }
    }
}

fn copy<'a>(from: &'a Buffer, to: &'a Buffer, words: usize) -> Step<'a> {
    Step::Copy { from, to, words }
}

#[test]
fn steps_of_one_submission_see_each_other() {
    let Some((vulkan, device)) = open() else {
        return;
    };
    let make = |place| device.buffer(1000, place).expect("there is memory");
    let mut up = make(Place::Upload);
    let (there, back) = (make(Place::Device), make(Place::Download));
    let words: Vec<u32> = (0..1000).map(|i| i * i).collect();
    up.write(&words).expect("it fits");
    let steps = [copy(&up, &there, 1000), copy(&there, &back, 1000)];
    device.run(&steps).expect("the device copies");
    let mut out = vec![0; 1000];
    back.read(&mut out).expect("it fits");
    assert_eq!(out, words);
    assert_eq!(device.uploaded_bytes(), 4000);
    assert!(!device.longest_submission().is_zero());
    assert_eq!(vulkan.messages(), [""; 0]);
}

#[test]
fn what_breaks_a_rule_is_not_done() {
    let Some((vulkan, device)) = open() else {
        return;
    };
    let Some((_other_vulkan, other)) = open() else {
        return;
    };
    let mut up = device.buffer(10, Place::Upload).expect("memory");
    let there = device.buffer(10, Place::Device).expect("memory");
    let mut back = device.buffer(20, Place::Download).expect("memory");
    let foreign = other.buffer(10, Place::Device).expect("memory");
    for wrong in [
        copy(&up, &there, 11),
        copy(&up, &there, 0),
        copy(&back, &there, 1),
        copy(&there, &up, 1),
        copy(&there, &there, 1),
        copy(&up, &foreign, 1),
    ] {
        let error = device.run(&[wrong]).expect_err("a rule is broken");
        assert!(matches!(error, GpuError::Misuse { .. }), "{error}");
    }
    assert!(up.write(&[0; 11]).is_err());
    assert!(back.write(&[0; 1]).is_err());
    assert!(up.read(&mut [0; 1]).is_err());
    let too_many = device.max_buffer_bytes() as usize / 4 + 1;
    assert!(device.buffer(too_many, Place::Device).is_err());
    assert_eq!(vulkan.messages(), [""; 0]);
}

#[test]
fn the_validation_layer_listens() {
    let Some((vulkan, device)) = open() else {
        return;
    };
    // No usage is what no buffer may have; drivers do not mind.
    let info = vk::BufferCreateInfo::default().size(4);
    // SAFETY: the device is alive; the call breaks a rule on purpose, one that the layer sees before the driver does.
    unsafe {
        let raw = device.shared.raw.create_buffer(&info, None);
        device
            .shared
            .raw
            .destroy_buffer(raw.unwrap_or_default(), None);
    }
    let messages = vulkan.messages();
    assert!(
        messages
            .iter()
            .any(|text| text.contains("VUID-VkBufferCreateInfo-usage")),
        "{messages:?}"
    );
}
