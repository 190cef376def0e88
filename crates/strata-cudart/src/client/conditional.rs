//! Conditional nodes of graphs: bodies that are done if, or as long as, a condition holds. A condition is a word of device memory, and
//! its handle is the address: device code writes there (`cudaGraphSetConditional`).

use super::boundary::{In, Out};
use super::error::{Code, Outcome};
use super::graph::{self, Graph, Kind, Work};
use super::{copy, cuda, memory};
use crate::protocol::{Region, kind};
use std::sync::Arc;

/// A node's parameters (`cudaConditionalNodeParams`).
#[repr(C)]
#[derive(Clone, Copy)]
struct ConditionalNode {
    handle: u64,
    /// `cudaGraphCondTypeIf`, `While`, `Switch`.
    how: u32,
    /// Bodies.
    count: u32,
    /// Where the program finds the graphs that become the bodies: an array that stays.
    graphs: u64,
}

const IF: u32 = 0;
const WHILE: u32 = 1;
const SWITCH: u32 = 2;

/// `cudaGraphCondAssignDefault`.
const ASSIGN_DEFAULT: u32 = 1;

/// `cudaMemcpyHostToDevice`, `cudaMemcpyDeviceToHost`.
const TO_DEVICE: u32 = 1;
const TO_HOST: u32 = 2;

const WORD: u64 = size_of::<u32>() as u64;

fn value(condition: u64) -> Outcome<u32> {
    let mut value = 0u32;
    copy::copy(Region::line(&raw mut value as u64, WORD), Region::line(condition, WORD), TO_HOST)?;
    Ok(value)
}

/// Gives a condition a value.
pub(super) fn set(condition: u64, value: u32) -> Outcome {
    copy::copy(Region::line(condition, WORD), Region::line(&raw const value as u64, WORD), TO_DEVICE)
}

/// The work of a conditional node; the program is given its bodies, to be filled.
pub(super) fn node(params: u64) -> Outcome<Work> {
    let ConditionalNode { handle, how, count, .. } = In::<ConditionalNode>::from_address(params).get()?;
    let most = if how == IF { 2 } else { u32::MAX };
    if how > SWITCH || count == 0 || count > most || (how == WHILE && count != 1) {
        return Err(Code::INVALID_VALUE);
    }
    let bodies: Vec<Arc<Graph>> = (0..count).map(|_| Arc::default()).collect();
    // The program may look at the array as long as the graph is there, which nobody is told the end of.
    let handles: &'static mut [u64] = Box::leak(bodies.iter().map(|body| graph::keep(body.clone())).collect());
    Out::from_address(params + std::mem::offset_of!(ConditionalNode, graphs) as u64).set(handles.as_ptr() as u64)?;
    Ok(Work::new(Kind::Conditional, move || {
        let chosen = |value: u32| match (how, value) {
            (SWITCH, value) => bodies.get(value as usize),
            (IF, 0) => bodies.get(1),
            (WHILE, 0) => None,
            _ => bodies.first(),
        };
        while let Some(body) = chosen(value(handle)?) {
            body.run()?;
            if how != WHILE {
                break;
            }
        }
        Ok(())
    }))
}

fn create(handle: Out<u64>, graph: u64, value: u32, flags: u32) -> Outcome {
    let graph = graph::get(graph)?;
    let condition = memory::alloc(WORD as usize, kind::DEVICE)?;
    set(condition, value)?;
    if flags & ASSIGN_DEFAULT != 0 {
        graph.begins_with(condition, value);
    }
    handle.set(condition)
}

cuda! {
    /// Makes a condition for nodes of a graph.
    fn cudaGraphConditionalHandleCreate(handle: Out<u64>, graph: u64, value: u32, flags: u32) {
        create(handle, graph, value, flags)
    }
    /// The same, in a context; there is one.
    fn cudaGraphConditionalHandleCreate_v2(handle: Out<u64>, graph: u64, _context: u64, value: u32, flags: u32) {
        create(handle, graph, value, flags)
    }
}
