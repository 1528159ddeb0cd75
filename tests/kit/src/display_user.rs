//! A person at a virtual display: keys as the X server itself makes them, which a browser cannot
//! tell from those of a keyboard, and the part of a window manager that minimises a window.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

/// Codes of requests, by the X protocol and its extension XTEST.
const CREATE_WINDOW: u8 = 1;
const GET_WINDOW_ATTRIBUTES: u8 = 3;
const MAP_WINDOW: u8 = 8;
const CONFIGURE_WINDOW: u8 = 12;
const GET_GEOMETRY: u8 = 14;
const QUERY_TREE: u8 = 15;
const INTERN_ATOM: u8 = 16;
const CHANGE_PROPERTY: u8 = 18;
const SET_INPUT_FOCUS: u8 = 42;
const GET_INPUT_FOCUS: u8 = 43;
const QUERY_EXTENSION: u8 = 98;
const GET_KEYBOARD_MAPPING: u8 = 101;
const FAKE_INPUT: u8 = 2;

/// Codes of events.
const KEY_DOWN: u8 = 2;
const KEY_UP: u8 = 3;
const BUTTON_DOWN: u8 = 4;
const BUTTON_UP: u8 = 5;
const MOTION: u8 = 6;

/// The values that a new window names: the events that it hears, of which `KeyPress` is the first.
const EVENT_MASK: u32 = 0x800;
const KEY_PRESSES: u32 = 1;
/// Of a new window: one that can be drawn in.
const INPUT_OUTPUT: u16 = 1;

/// `XA_ATOM`, the type of a list of atoms.
const TYPE_ATOM: u32 = 4;
/// `IconicState` of `WM_STATE`.
const ICONIC: u32 = 3;

/// A person at a [`VirtualDisplay`](super::VirtualDisplay).
pub struct DisplayUser {
    server: UnixStream,
    root: u32,
    /// The number of the first thing that this program makes.
    own: u32,
    /// The keys that came to a window of its own, as the server told them.
    heard: Vec<u8>,
    xtest: u8,
    /// The key of each character that one key alone types.
    keys: HashMap<u32, u8>,
}

impl DisplayUser {
    /// At the display of this name, such as `:7`.
    pub(crate) fn at(display: &str) -> Self {
        let socket = format!("/tmp/.X11-unix/X{}", display.trim_start_matches(':'));
        let mut server = UnixStream::connect(socket).unwrap();
        // Least significant byte first, protocol 11.0, no authorization.
        server.write_all(&[b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        let mut head = [0; 8];
        server.read_exact(&mut head).unwrap();
        assert_eq!(head[0], 1, "the X server lets a program of this user in");
        let mut setup = vec![0; usize::from(u16_at(&head, 6)) * 4];
        server.read_exact(&mut setup).unwrap();
        let (vendor, formats) = (usize::from(u16_at(&setup, 16)), usize::from(setup[21]));
        let root = u32_at(&setup, 32 + vendor.div_ceil(4) * 4 + formats * 8);
        let (least, most) = (setup[26], setup[27]);
        let (own, heard, keys) = (u32_at(&setup, 4), Vec::new(), HashMap::new());
        let mut user = Self { server, root, own, heard, xtest: 0, keys };
        let asked = [&5u16.to_le_bytes()[..], &[0, 0], b"XTEST\0\0\0"].concat();
        user.xtest = user.ask(QUERY_EXTENSION, 0, &asked)[9];
        user.learn_keys(least, most - least + 1);
        user
    }

    fn learn_keys(&mut self, least: u8, count: u8) {
        let mapping = self.ask(GET_KEYBOARD_MAPPING, 0, &[least, count, 0, 0]);
        let of_key = usize::from(mapping[1]);
        for (key, code) in (least..=u8::MAX).take(usize::from(count)).enumerate() {
            // The symbols of Latin-1 have the numbers of its characters.
            self.keys.entry(u32_at(&mapping, 32 + key * of_key * 4)).or_insert(code);
        }
    }

    fn send(&mut self, code: u8, data: u8, body: &[u8]) {
        let words = u16::try_from(1 + body.len() / 4).unwrap().to_le_bytes();
        self.server.write_all(&[&[code, data], &words[..], body].concat()).unwrap();
    }

    fn ask(&mut self, code: u8, data: u8, body: &[u8]) -> Vec<u8> {
        let reply = self.try_ask(code, data, body);
        reply.unwrap_or_else(|error| panic!("the X server refused request {code}: error {error}"))
    }

    /// The reply, or the number of the error: a window may have gone meanwhile.
    fn try_ask(&mut self, code: u8, data: u8, body: &[u8]) -> Result<Vec<u8>, u8> {
        self.send(code, data, body);
        loop {
            let mut reply = vec![0; 32];
            self.server.read_exact(&mut reply).unwrap();
            if reply[0] == 0 {
                return Err(reply[1]);
            }
            // Else it is an event.
            if reply[0] == 1 {
                let mut more = vec![0; u32_at(&reply, 4) as usize * 4];
                self.server.read_exact(&mut more).unwrap();
                reply.extend(more);
                return Ok(reply);
            }
            if reply[0] == KEY_DOWN {
                self.heard.push(reply[1]);
            }
        }
    }

    fn press(&mut self, kind: u8, key: u8) {
        let mut body = [0; 32];
        body[..2].copy_from_slice(&[kind, key]);
        self.send(self.xtest, FAKE_INPUT, &body);
    }

    /// Types a small letter or a digit.
    pub fn type_key(&mut self, character: char) {
        let key = self.keys[&u32::from(character)];
        self.press(KEY_DOWN, key);
        self.press(KEY_UP, key);
        self.focused();
    }

    /// Opens a window of another program than the browser, and turns to it; the window.
    pub fn open_other_program(&mut self) -> u32 {
        let window = self.own;
        let place = [700u16, 500, 300, 200, 0, INPUT_OUTPUT].map(u16::to_le_bytes).concat();
        let about = [0, EVENT_MASK, KEY_PRESSES].map(u32::to_le_bytes).concat();
        let whose = [window, self.root].map(u32::to_le_bytes).concat();
        self.send(CREATE_WINDOW, 0, &[whose, place, about].concat());
        self.send(MAP_WINDOW, 0, &window.to_le_bytes());
        self.turn_to(window);
        assert_eq!(self.focused(), window);
        window
    }

    /// Turns to a window, as a click in it does.
    pub fn turn_to(&mut self, window: u32) {
        // The server takes the time 0 for now.
        self.send(SET_INPUT_FOCUS, 0, &[window, 0].map(u32::to_le_bytes).concat());
        self.focused();
    }

    /// The characters that were typed into the window of the other program.
    pub fn heard(&mut self) -> String {
        self.focused();
        let character = |code: &u8| {
            let found = self.keys.iter().find(|(_, key)| *key == code);
            found.and_then(|(symbol, _)| char::from_u32(*symbol)).unwrap_or('?')
        };
        self.heard.iter().map(character).collect()
    }

    /// The window that gets the keys, once the server has done all before.
    pub fn focused(&mut self) -> u32 {
        u32_at(&self.ask(GET_INPUT_FOCUS, 0, &[]), 8)
    }

    /// Clicks at a point of the display.
    pub fn click_at(&mut self, x: u16, y: u16) {
        let mut body = [0; 32];
        body[0] = MOTION;
        body[20..22].copy_from_slice(&x.to_le_bytes());
        body[22..24].copy_from_slice(&y.to_le_bytes());
        self.send(self.xtest, FAKE_INPUT, &body);
        self.press(BUTTON_DOWN, 1);
        self.press(BUTTON_UP, 1);
        self.focused();
    }

    /// Where a window is, and its width and height; `None` if it has gone.
    pub fn place_of(&mut self, window: u32) -> Option<[u16; 4]> {
        let told = self.try_ask(GET_GEOMETRY, 0, &window.to_le_bytes()).ok()?;
        Some([12, 14, 16, 18].map(|at| u16_at(&told, at)))
    }

    /// The windows that can be seen, the topmost last.
    pub fn windows(&mut self) -> Vec<u32> {
        let tree = self.ask(QUERY_TREE, 0, &self.root.to_le_bytes());
        let count = usize::from(u16_at(&tree, 16));
        let all: Vec<_> = (0..count).map(|index| u32_at(&tree, 32 + index * 4)).collect();
        let is_seen = |user: &mut Self, window: u32| {
            let told = user.try_ask(GET_WINDOW_ATTRIBUTES, 0, &window.to_le_bytes());
            told.is_ok_and(|attributes| attributes[26] == 2)
        };
        all.into_iter().filter(|window| is_seen(self, *window)).collect()
    }

    /// Puts a window over all others.
    pub fn raise(&mut self, window: u32) {
        // The mask has its place among the windows alone; 0 is above all.
        let body = [window, 0x40, 0].map(u32::to_le_bytes).concat();
        self.send(CONFIGURE_WINDOW, 0, &body);
        self.focused();
    }

    /// Says of a window that it is minimised, as window managers do: there is none.
    pub fn minimise(&mut self, window: u32) {
        let [state, net_state, hidden] =
            ["WM_STATE", "_NET_WM_STATE", "_NET_WM_STATE_HIDDEN"].map(|name| self.atom(name));
        self.set(window, (state, state), &[ICONIC, 0]);
        self.set(window, (net_state, TYPE_ATOM), &[hidden]);
        self.focused();
    }

    fn atom(&mut self, name: &str) -> u32 {
        let mut body = u16::try_from(name.len()).unwrap().to_le_bytes().to_vec();
        body.extend([0, 0]);
        body.extend(name.as_bytes());
        body.resize(body.len().div_ceil(4) * 4, 0);
        u32_at(&self.ask(INTERN_ATOM, 0, &body), 8)
    }

    fn set(&mut self, window: u32, (property, kind): (u32, u32), values: &[u32]) {
        let head = [window, property, kind];
        let mut body: Vec<_> = head.into_iter().flat_map(u32::to_le_bytes).collect();
        body.extend([32, 0, 0, 0]);
        body.extend(u32::try_from(values.len()).unwrap().to_le_bytes());
        body.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.send(CHANGE_PROPERTY, 0, &body);
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
