//! What the host side of a program did, kept so that it can be done again without the program.
//!
//! A program makes its inputs, drives a device and judges what it reads back. What it asks of the device depends on the program, its
//! input, and what the device answers. So another device can be asked the same without making the inputs anew; and as long as it
//! answers the same, the program would have asked the same and judged the same. Where it answers otherwise (an address, a sum whose
//! terms came in another order) the script says nothing more, and the program itself has to run.
//!
//! Invariant: a device that performs a script makes the calls that the program made, in its order and with its data; its engine
//! cannot tell the two apart. Launches are carried out each time: what is spared is the host's own work.

use crate::device::Device;
use crate::engine::{HostError, KernelResources, Launch, ModuleId, SymbolAddress};
use strata_core::{Addr, Advice, AllocFlags, Bytes, Image, Texture};

/// A call of the host, with the answer if it could differ on another device.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    LoadModule { name: String, text: String, answer: ModuleId },
    Alloc { name: String, size: Bytes, flags: AllocFlags, answer: Addr },
    Free { start: Addr },
    CopyIn { start: Addr, data: Vec<u8> },
    CopyOut { start: Addr, answer: Vec<u8> },
    Memset { start: Addr, size: Bytes, byte: u8 },
    Prefetch { start: Addr, size: Bytes, to_device: bool },
    Advise { start: Addr, size: Bytes, advice: Advice },
    CreateTexture { texture: Texture, answer: u64 },
    CreateSurface { image: Image, answer: u64 },
    DestroyObject { handle: u64 },
    Bind { reference: Addr, object: u64 },
    Resources { module: ModuleId, kernel: String, answer: KernelResources },
    TouchedByHost { start: Addr, size: Bytes },
    CopyOnDevice { to: Addr, from: Addr, size: Bytes },
    Symbol { module: ModuleId, name: String, answer: SymbolAddress },
    Run(Launch),
    Announce { launches: u64 },
    BeginPreparation,
    BeginMeasurement,
    Synchronize,
}

impl Step {
    /// Data that it holds.
    fn bytes(&self) -> usize {
        match self {
            Self::CopyIn { data, .. } | Self::CopyOut { answer: data, .. } => data.len(),
            Self::LoadModule { text, .. } => text.len(),
            _ => 0,
        }
    }

    /// Does it; true if the answer is the one that is known.
    fn perform(&self, device: &mut Device, scratch: &mut Vec<u8>) -> Result<bool, HostError> {
        match self {
            Self::LoadModule { name, text, answer } => return Ok(device.load_module(name, text)? == *answer),
            Self::Alloc { name, size, flags, answer } => return Ok(device.alloc_with(name, *size, *flags)? == *answer),
            Self::Free { start } => device.free(*start)?,
            Self::CopyIn { start, data } => device.copy_in(*start, data)?,
            Self::CopyOut { start, answer } => {
                scratch.resize(answer.len(), 0);
                device.copy_out(*start, scratch)?;
                return Ok(scratch == answer);
            }
            Self::Memset { start, size, byte } => device.memset(*start, *size, *byte)?,
            Self::Prefetch { start, size, to_device } => device.prefetch(*start, *size, *to_device),
            Self::Advise { start, size, advice } => device.advise(*start, *size, *advice),
            Self::CreateTexture { texture, answer } => return Ok(device.create_texture(texture)? == *answer),
            Self::CreateSurface { image, answer } => return Ok(device.create_surface(image)? == *answer),
            Self::DestroyObject { handle } => device.destroy_object(*handle)?,
            Self::Bind { reference, object } => device.bind(*reference, *object)?,
            Self::Resources { module, kernel, answer } => return Ok(device.resources(*module, kernel)? == *answer),
            Self::TouchedByHost { start, size } => device.touched_by_host(*start, *size),
            Self::CopyOnDevice { to, from, size } => device.copy_on_device(*to, *from, *size)?,
            Self::Symbol { module, name, answer } => return Ok(device.symbol(*module, name)? == *answer),
            Self::Run(launch) => device.run(launch.clone())?,
            Self::Announce { launches } => device.announce(*launches),
            Self::BeginPreparation => device.begin_preparation(),
            Self::BeginMeasurement => device.begin_measurement(),
            Self::Synchronize => device.synchronize(),
        }
        Ok(true)
    }
}

/// All that a program asked of a device, in its order.
#[derive(Clone, Debug)]
pub struct Script {
    steps: Vec<Step>,
    /// Room for data that is left.
    room: Bytes,
}

impl Script {
    /// An empty one that may hold so much data.
    pub(crate) fn with_room(room: Bytes) -> Self {
        Self { steps: Vec::new(), room }
    }

    /// Adds a step; false if there is no room for it.
    pub(crate) fn add(&mut self, step: Step) -> bool {
        let left = self.room.0.checked_sub(step.bytes() as u64);
        self.room = Bytes(left.unwrap_or(0));
        self.steps.push(step);
        left.is_some()
    }

    /// Asks the same of a fresh device. True if that gave the same answers, so that what the program made of them holds here, too;
    /// false, or an error, if it must be asked itself, on another fresh device.
    pub fn perform(&self, device: &mut Device) -> Result<bool, HostError> {
        let mut scratch = Vec::new();
        for step in &self.steps {
            if !step.perform(device, &mut scratch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Allocation, AllocationId, Arg, Engine, HostEvent, KernelShape, LaunchReport, ParamShape, Submitted};
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Memory of which a launch increments the first byte by `step`; it notes whatever it is asked.
    struct Counter {
        memory: Vec<u8>,
        step: u8,
        heard: Rc<RefCell<Vec<String>>>,
    }

    impl Engine for Counter {
        fn load_module(&mut self, name: &str, text: &str) -> Result<ModuleId, HostError> {
            self.heard.borrow_mut().push(format!("module {name} {text}"));
            Ok(ModuleId(0))
        }
        fn kernel(&self, _: ModuleId, name: &str) -> Result<KernelShape, HostError> {
            Ok(KernelShape { name: name.to_owned(), params: vec![ParamShape { offset: 0, size: 8 }] })
        }
        fn symbol(&self, _: ModuleId, name: &str) -> Result<SymbolAddress, HostError> {
            Err(HostError::Module(format!("no `{name}`")))
        }
        fn alloc(&mut self, size: Bytes, flags: AllocFlags, name: &str) -> Result<Allocation, HostError> {
            let start = Addr(self.memory.len() as u64);
            self.memory.resize(self.memory.len() + size.0 as usize, 0);
            Ok(Allocation { id: AllocationId(0), start, size, name: name.to_owned(), flags })
        }
        fn free(&mut self, _: Addr) -> Result<AllocationId, HostError> {
            Ok(AllocationId(0))
        }
        fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError> {
            self.heard.borrow_mut().push(format!("write {data:?}"));
            self.memory[start.0 as usize..][..data.len()].copy_from_slice(data);
            Ok(())
        }
        fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), HostError> {
            data.copy_from_slice(&self.memory[start.0 as usize..][..data.len()]);
            Ok(())
        }
        fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError> {
            self.memory[start.0 as usize..][..size.0 as usize].fill(byte);
            Ok(())
        }
        fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
            self.heard.borrow_mut().push(format!("launch {:?}", launch.params));
            self.memory[0] += self.step;
            // What a kernel submits is no step of the host's.
            let set = Submitted::Set { to: Addr(1), byte: 9, size: Bytes(1) };
            Ok(LaunchReport { submitted: vec![set], ..LaunchReport::default() })
        }
        fn hear(&mut self, event: &HostEvent) {
            self.heard.borrow_mut().push(format!("{event:?}"));
        }
    }

    fn device(before: usize, step: u8) -> (Device, Rc<RefCell<Vec<String>>>) {
        let heard = Rc::default();
        let engine = Counter { memory: vec![0; before], step, heard: Rc::clone(&heard) };
        (Device::new(Box::new(engine)), heard)
    }

    /// A program: what it reads back in the end.
    fn program(device: &mut Device) -> Result<Vec<u8>, HostError> {
        let module = device.load_module("m", "text")?;
        device.announce(1);
        let array = device.alloc("a", Bytes(4))?;
        device.copy_in(array, &[1, 2, 3, 4])?;
        device.launch(module, "k", 1, 32, 0, &[Arg::Ptr(array)])?;
        let mut data = vec![0; 4];
        device.copy_out(array, &mut data)?;
        device.free(array)?;
        Ok(data)
    }

    fn script() -> (Script, Vec<String>) {
        let (mut first, heard) = device(0, 5);
        first.keep_script(Bytes(100));
        assert_eq!(program(&mut first).expect("it runs"), [6, 9, 3, 4]);
        let script = first.take_script().expect("kept");
        (script, heard.take())
    }

    #[test]
    fn an_engine_cannot_tell_a_script_from_its_program() {
        let (script, asked) = script();
        let (mut second, heard) = device(0, 5);
        assert!(script.perform(&mut second).expect("it can be"));
        assert_eq!(heard.take(), asked);
        assert_eq!((second.launches().len(), second.most_allocated()), (1, Bytes(4)));
    }

    #[test]
    fn another_answer_ends_it() {
        let (script, asked) = script();
        let (mut elsewhere, heard) = device(512, 5);
        assert!(!script.perform(&mut elsewhere).expect("no error"), "another address");
        assert!(heard.take().len() < asked.len() / 2, "at once");
        let (mut other, _) = device(0, 6);
        assert!(!script.perform(&mut other).expect("no error"), "other data");
    }

    #[test]
    fn what_has_no_room_or_failed_is_not_kept() {
        let (mut small, _) = device(0, 5);
        small.keep_script(Bytes(11));
        program(&mut small).expect("it runs");
        assert!(small.take_script().is_none(), "four bytes of text and eight of data");
        let (mut failing, _) = device(0, 5);
        failing.keep_script(Bytes(100));
        assert!(failing.symbol(ModuleId(0), "x").is_err());
        program(&mut failing).expect("it runs");
        assert!(failing.take_script().is_none(), "errors are not repeated");
    }
}
