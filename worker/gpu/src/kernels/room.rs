//! Buffers that are used again: taking memory of a device, and touching memory of the machine for the first time, cost more
//! than what is done in them.

use crate::error::GpuError;
use crate::vulkan::{Buffer, Device, Place, Step};

/// A buffer of one place, replaced where a larger one is needed.
pub struct Slot {
    place: Place,
    buffer: Option<Buffer>,
}

impl Slot {
    /// No buffer yet.
    pub fn new(place: Place) -> Slot {
        Slot {
            place,
            buffer: None,
        }
    }

    /// Makes it a buffer of at least `words` words, whose content is anything.
    ///
    /// # Errors
    /// Those of a new buffer.
    pub fn make(&mut self, device: &Device, words: usize) -> Result<&Buffer, GpuError> {
        let kept = self
            .buffer
            .take()
            .filter(|buffer| buffer.words() >= words.max(1));
        // What is too small is freed before more is asked for.
        let buffer = match kept {
            Some(buffer) => buffer,
            None => device.buffer(words, self.place)?,
        };
        Ok(self.buffer.insert(buffer))
    }

    /// The buffer, if one was made.
    pub fn get(&self) -> Option<&Buffer> {
        self.buffer.as_ref()
    }
}

/// A result on the device, and the same where the machine reads it.
pub struct Room {
    pub made: Slot,
    pub back: Slot,
}

impl Room {
    /// No room yet.
    pub fn new() -> Room {
        Room {
            made: Slot::new(Place::Device),
            back: Slot::new(Place::Download),
        }
    }

    /// What brings the first `words` words of the result back; nothing where there is none.
    ///
    /// # Errors
    /// Those of a new buffer.
    pub fn copy(&mut self, device: &Device, words: usize) -> Result<Option<Step<'_>>, GpuError> {
        self.back.make(device, words)?;
        let both = self.made.get().zip(self.back.get());
        let both = both.filter(|_| words > 0);
        Ok(both.map(|(from, to)| Step::Copy { from, to, words }))
    }
}
