//! Engines around engines: to measure, to watch, to look at memory between launches.

use crate::{
    AllocFlags, Allocation, AllocationId, CopyReport, Engine, HostError, HostEvent, KernelResources, KernelShape,
    Launch, LaunchReport, ModuleId, SymbolAddress,
};
use strata_core::{Addr, Bytes, Image, Texture};

/// An engine that stands around another and passes everything on, except for what it does itself.
pub trait Around {
    /// The engine inside.
    fn inside(&self) -> &dyn Engine;

    /// The engine inside.
    fn inside_mut(&mut self) -> &mut dyn Engine;

    /// A launch, see [`Engine::launch`].
    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        self.inside_mut().launch(launch)
    }

    /// An event, see [`Engine::hear`].
    fn hear(&mut self, event: &HostEvent) {
        self.inside_mut().hear(event);
    }
}

impl<A: Around> Engine for A {
    fn load_module(&mut self, name: &str, text: &str) -> Result<ModuleId, HostError> {
        self.inside_mut().load_module(name, text)
    }

    fn kernel(&self, module: ModuleId, name: &str) -> Result<KernelShape, HostError> {
        self.inside().kernel(module, name)
    }

    fn resources(&mut self, module: ModuleId, name: &str) -> Result<KernelResources, HostError> {
        self.inside_mut().resources(module, name)
    }

    fn symbol(&self, module: ModuleId, name: &str) -> Result<SymbolAddress, HostError> {
        self.inside().symbol(module, name)
    }

    fn alloc(&mut self, size: Bytes, flags: AllocFlags, name: &str) -> Result<Allocation, HostError> {
        self.inside_mut().alloc(size, flags, name)
    }

    fn free(&mut self, start: Addr) -> Result<AllocationId, HostError> {
        self.inside_mut().free(start)
    }

    fn write(&mut self, start: Addr, data: &[u8]) -> Result<(), HostError> {
        self.inside_mut().write(start, data)
    }

    fn read(&self, start: Addr, data: &mut [u8]) -> Result<(), HostError> {
        self.inside().read(start, data)
    }

    fn fill(&mut self, start: Addr, size: Bytes, byte: u8) -> Result<(), HostError> {
        self.inside_mut().fill(start, size, byte)
    }

    fn create_texture(&mut self, texture: &Texture) -> Result<u64, HostError> {
        self.inside_mut().create_texture(texture)
    }

    fn create_surface(&mut self, image: &Image) -> Result<u64, HostError> {
        self.inside_mut().create_surface(image)
    }

    fn destroy_object(&mut self, handle: u64) -> Result<(), HostError> {
        self.inside_mut().destroy_object(handle)
    }

    fn launch(&mut self, launch: &Launch) -> Result<LaunchReport, HostError> {
        Around::launch(self, launch)
    }

    fn copies(&self) -> CopyReport {
        self.inside().copies()
    }

    fn hear(&mut self, event: &HostEvent) {
        Around::hear(self, event);
    }
}
