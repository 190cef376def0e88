//! The functions that the CUDA runtime gives device code: `printf`, `malloc`, `free`, `assert`.
//!
//! Arguments and results are variables of the frame: one unit per four bytes, 64-bit values in two.

use crate::exec::{Exec, Flow, Slot};
use crate::fault::Cause;
use crate::inst::Inst;
use crate::lanes::{read_lanes, write_lanes};
use crate::memory::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::ops::local::local_address;
use crate::ops::memory::window;
use std::fmt::Write;
use strata_core::{Addr, Bytes, LANES, LaneMask, Space};

/// A 64-bit argument of each lane.
pub(super) fn argument64(x: &Exec<'_>, at: Slot) -> [u64; LANES] {
    // SAFETY: variables of the frame have units in pairs.
    let (low, high) = unsafe { (read_lanes::<u32>(x, at), read_lanes::<u32>(x, Slot(at.0 + 1))) };
    std::array::from_fn(|l| u64::from(low[l]) | u64::from(high[l]) << 32)
}

/// One byte behind a generic address.
pub(super) fn byte_at(x: &Exec<'_>, lane: usize, address: u64) -> Option<u8> {
    let device = match window(address) {
        Space::Shared => {
            let offset = address - SHARED_WINDOW;
            // SAFETY: the offset is checked against the CTA's shared memory.
            return (offset < x.shared_bytes).then(|| unsafe { x.shared.add(offset as usize).read() });
        }
        Space::Local => {
            let offset = address - LOCAL_WINDOW;
            if offset >= x.local_bytes {
                return None;
            }
            local_address(x, lane, offset)
        }
        _ => {
            x.launch.memory.range_of(Addr(address))?;
            address
        }
    };
    // SAFETY: the address lies in a live allocation or in the warp's local memory.
    Some(unsafe { x.origin.wrapping_add(device as usize).read() })
}

fn bytes_at<const N: usize>(x: &Exec<'_>, lane: usize, address: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    for (k, b) in bytes.iter_mut().enumerate() {
        *b = byte_at(x, lane, address + k as u64)?;
    }
    Some(bytes)
}

/// A text that ends in a zero byte.
fn text_at(x: &Exec<'_>, lane: usize, address: u64) -> Option<Vec<u8>> {
    const LONGEST: usize = 1 << 16;
    let mut text = Vec::new();
    while text.len() < LONGEST {
        match byte_at(x, lane, address + text.len() as u64)? {
            0 => break,
            b => text.push(b),
        }
    }
    Some(text)
}

/// `vprintf(format, arguments)`: prints lane by lane; returns the number of arguments, as the device does.
pub(crate) unsafe fn print(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let (formats, arguments) = (argument64(x, i.a), argument64(x, i.b));
    let mut count = 0;
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let Some(format) = text_at(x, lane, formats[lane]) else {
            return bad_pointer(x, lane, formats[lane]);
        };
        let mut at = arguments[lane];
        let mut failed = None;
        let mut next = |size: u64| {
            at = at.next_multiple_of(size);
            let value = if size == 8 {
                bytes_at::<8>(x, lane, at).map(u64::from_le_bytes)
            } else {
                bytes_at::<4>(x, lane, at).map(|b| u64::from(u32::from_le_bytes(b)))
            };
            if value.is_none() {
                failed = Some(at);
            }
            at += size;
            value.unwrap_or_default()
        };
        let (text, used) = format_text(&format, &mut next, |address| text_at(x, lane, address));
        if let Some(address) = failed {
            return bad_pointer(x, lane, address);
        }
        count = used;
        x.launch.output.write(&text);
    }
    // SAFETY: the result is a 32-bit variable of the frame.
    unsafe { write_lanes::<u32>(x, i.d, m, |_| count) };
    Flow::Next
}

pub(super) fn bad_pointer(x: &mut Exec<'_>, lane: usize, address: u64) -> Flow {
    let cause = Cause::outside(x.launch.memory, lane as u32, Addr(address), 1);
    x.fail(cause)
}

/// A conversion specification of a format string.
#[derive(Default)]
struct Specification {
    minus: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    long: bool,
}

/// C's `printf` for what CUDA supports; gives the text and the number of arguments used.
fn format_text(
    format: &[u8],
    next: &mut dyn FnMut(u64) -> u64,
    text_of: impl Fn(u64) -> Option<Vec<u8>>,
) -> (Vec<u8>, u32) {
    let mut out = Vec::new();
    let mut used = 0;
    let mut bytes = format.iter().copied().peekable();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let mut spec = Specification::default();
        while let Some(&flag) = bytes.peek() {
            match flag {
                b'-' => spec.minus = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            bytes.next();
        }
        let mut number = |bytes: &mut std::iter::Peekable<_>, used: &mut u32| {
            if bytes.peek() == Some(&b'*') {
                bytes.next();
                *used += 1;
                return (next(4) as usize).min(1 << 12);
            }
            let mut n = 0usize;
            while let Some(d) = bytes.next_if(u8::is_ascii_digit) {
                n = (n * 10 + usize::from(d - b'0')).min(1 << 12);
            }
            n
        };
        spec.width = number(&mut bytes, &mut used);
        if bytes.next_if_eq(&b'.').is_some() {
            spec.precision = Some(number(&mut bytes, &mut used));
        }
        while let Some(size) = bytes.next_if(|b| b"hlLqjzt".contains(b)) {
            spec.long |= b"lLqjzt".contains(&size);
        }
        let Some(conversion) = bytes.next() else { break };
        if conversion == b'%' {
            out.push(b'%');
            continue;
        }
        used += 1;
        let field = match conversion {
            b'd' | b'i' => {
                let v = if spec.long { next(8) as i64 } else { i64::from(next(4) as i32) };
                spec.integer(v < 0, &v.unsigned_abs().to_string())
            }
            b'u' => spec.integer(false, &spec.unsigned(next).to_string()),
            b'x' => spec.prefixed("0x", &format!("{:x}", spec.unsigned(next))),
            b'X' => spec.prefixed("0X", &format!("{:X}", spec.unsigned(next))),
            b'o' => spec.prefixed("0", &format!("{:o}", spec.unsigned(next))),
            b'p' => format!("{:#x}", next(8)).into_bytes(),
            b'c' => vec![next(4) as u8],
            b's' => {
                let mut text = text_of(next(8)).unwrap_or_else(|| b"(bad pointer)".to_vec());
                text.truncate(spec.precision.unwrap_or(usize::MAX));
                text
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => spec.float(conversion, f64::from_bits(next(8))),
            other => {
                used -= 1;
                vec![b'%', other]
            }
        };
        spec.pad(&mut out, field, matches!(conversion, b's' | b'c' | b'p'));
    }
    (out, used)
}

impl Specification {
    fn unsigned(&self, next: &mut dyn FnMut(u64) -> u64) -> u64 {
        if self.long { next(8) } else { next(4) }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    fn integer(&self, negative: bool, digits: &str) -> Vec<u8> {
        let zeros = self.precision.unwrap_or(1).saturating_sub(digits.len());
        format!("{}{}{digits}", self.sign(negative), "0".repeat(zeros)).into_bytes()
    }

    fn prefixed(&self, prefix: &str, digits: &str) -> Vec<u8> {
        let zeros = self.precision.unwrap_or(1).saturating_sub(digits.len());
        let prefix = if self.alternate && digits != "0" { prefix } else { "" };
        format!("{prefix}{}{digits}", "0".repeat(zeros)).into_bytes()
    }

    fn float(&self, conversion: u8, v: f64) -> Vec<u8> {
        let sign = self.sign(v.is_sign_negative() && !v.is_nan());
        let magnitude = v.abs();
        let precision = self.precision.unwrap_or(6);
        let digits = if v.is_nan() {
            "nan".to_owned()
        } else if v.is_infinite() {
            "inf".to_owned()
        } else {
            match conversion.to_ascii_lowercase() {
                b'e' => scientific(magnitude, precision),
                b'g' => general(magnitude, precision.max(1), self.alternate),
                b'a' => hexadecimal(magnitude),
                _ => format!("{magnitude:.precision$}"),
            }
        };
        let text = format!("{sign}{digits}");
        (if conversion.is_ascii_uppercase() { text.to_uppercase() } else { text }).into_bytes()
    }

    fn pad(&self, out: &mut Vec<u8>, field: Vec<u8>, text: bool) {
        let missing = self.width.saturating_sub(field.len());
        if self.minus {
            out.extend(field);
            out.extend(std::iter::repeat_n(b' ', missing));
        } else if self.zero && !text {
            let digits = field.iter().position(u8::is_ascii_alphanumeric).unwrap_or(0);
            out.extend(&field[..digits]);
            out.extend(std::iter::repeat_n(b'0', missing));
            out.extend(&field[digits..]);
        } else {
            out.extend(std::iter::repeat_n(b' ', missing));
            out.extend(field);
        }
    }
}

/// `%e`: Rust writes `1.5e3` where C writes `1.5e+03`.
fn scientific(v: f64, precision: usize) -> String {
    let text = format!("{v:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

fn general(v: f64, precision: usize, keep_zeros: bool) -> String {
    let probe = scientific(v, precision - 1);
    let exponent: i32 = probe.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let fixed = exponent >= -4 && exponent < precision as i32;
    let text = if fixed { format!("{v:.*}", (precision as i32 - 1 - exponent) as usize) } else { probe };
    if keep_zeros || !text.contains('.') {
        return text;
    }
    let (mantissa, tail) = text.split_once('e').map_or((text.as_str(), String::new()), |(m, e)| (m, format!("e{e}")));
    format!("{}{tail}", mantissa.trim_end_matches('0').trim_end_matches('.'))
}

fn hexadecimal(v: f64) -> String {
    let bits = v.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    if exponent == 0 && fraction == 0 {
        return "0x0p+0".to_owned();
    }
    let (lead, exponent) = if exponent == 0 { (0, -1022) } else { (1, exponent - 1023) };
    let mut digits = format!("{fraction:013x}");
    digits.truncate(digits.trim_end_matches('0').len());
    let mut text = format!("0x{lead}");
    if !digits.is_empty() {
        text.push('.');
        text.push_str(&digits);
    }
    let _ = write!(text, "p{exponent:+}");
    text
}

/// `malloc(size)`: null if the device is full, as CUDA says.
pub(crate) unsafe fn allocate(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let sizes = argument64(x, i.a);
    let mut pointers = [0u64; LANES];
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        let record = x.launch.memory.alloc(Bytes(sizes[lane]), false, "device malloc");
        pointers[lane] = record.map_or(0, |r| r.start.0);
    }
    give64(x, i.d, m, &pointers)
}

/// Gives each lane a 64-bit result.
pub(super) fn give64(x: &mut Exec<'_>, to: Slot, m: LaneMask, values: &[u64; LANES]) -> Flow {
    // SAFETY: the result is a 64-bit variable of the frame: two units.
    unsafe {
        write_lanes::<u32>(x, to, m, |l| values[l] as u32);
        write_lanes::<u32>(x, Slot(to.0 + 1), m, |l| (values[l] >> 32) as u32);
    }
    Flow::Next
}

/// `free(pointer)`; null is allowed.
pub(crate) unsafe fn release(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let pointers = argument64(x, i.a);
    for lane in (0..LANES).filter(|l| m >> l & 1 != 0) {
        if pointers[lane] == 0 {
            continue;
        }
        if let Err(e) = x.launch.memory.free(Addr(pointers[lane])) {
            return x.fail(Cause::Trap { lane: lane as u32, message: format!("device free: {e}") });
        }
    }
    forget_ranges(x);
    Flow::Next
}

/// What was freed must be looked up again; the ranges that instructions remember may name it.
pub(super) fn forget_ranges(x: &mut Exec<'_>) {
    for k in 0..x.launch.kernel.memory_instructions {
        // SAFETY: the table has one entry per memory instruction of the kernel.
        unsafe { (*x.touched.add(k as usize)).size = 0 };
    }
}

/// `__assertfail(message, file, line, function, character size)`.
pub(crate) unsafe fn assertion_failed(x: &mut Exec<'_>, i: &Inst, m: LaneMask) -> Flow {
    let lane = m.trailing_zeros() as usize;
    let text = |x: &Exec<'_>, address: u64| {
        text_at(x, lane, address).map_or_else(|| "?".to_owned(), |t| String::from_utf8_lossy(&t).into_owned())
    };
    let (message, file) = (text(x, argument64(x, i.a)[lane]), text(x, argument64(x, i.b)[lane]));
    let function = text(x, argument64(x, i.e)[lane]);
    // SAFETY: the line is a 32-bit variable of the frame.
    let line = unsafe { read_lanes::<u32>(x, i.c) }[lane];
    let message = format!("assertion failed: `{message}`, {file}:{line}, in `{function}`");
    x.fail(Cause::Trap { lane: lane as u32, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(format: &str, arguments: &[u64], expected: &str) {
        let mut rest = arguments.iter().copied();
        let (text, used) = format_text(format.as_bytes(), &mut |_| rest.next().unwrap(), |_| Some(b"text".to_vec()));
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        assert_eq!(used as usize, arguments.len());
    }

    #[test]
    fn formats_as_c_does() {
        check("a %d b\n", &[(-5i32) as u32 as u64], "a -5 b\n");
        check("%5d|%-5d|%05d", &[7, 7, 7], "    7|7    |00007");
        check("%lld %llu", &[u64::MAX, u64::MAX], "-1 18446744073709551615");
        check("%x %#X %o", &[255, 255, 8], "ff 0XFF 10");
        check("%f %.2f", &[1.5f64.to_bits(), (-2.346f64).to_bits()], "1.500000 -2.35");
        check(
            "%e %g %g",
            &[12345.678f64.to_bits(), 0.0001f64.to_bits(), 1e10f64.to_bits()],
            "1.234568e+04 0.0001 1e+10",
        );
        check("%08.3f|%+.1f", &[(-1.5f64).to_bits(), 2f64.to_bits()], "-001.500|+2.0");
        check("%s %c %%", &[0, 65], "text A %");
        check("%*d", &[4, 9], "   9");
        check("%a", &[1.5f64.to_bits()], "0x1.8p+0");
        check("%g", &[f64::NAN.to_bits()], "nan");
    }
}
