//! Arguments: one flat schema for each tool, and the check against it. Wrong arguments get
//! an answer that names the parameter and the next step.
//!
//! A tool's own parameters are an enum, told apart by a selector (`action`, `what`).
//! Model APIs refuse or drop schemas with `oneOf` at their root, so the variants are
//! merged into one flat object; which parameter belongs to which variant is checked
//! here. A tool without a selector has one variant, itself.
//!
//! The tables are `arguments.json`, which a test makes from the Rust types: the program
//! holds their text, and not the code that makes schemas.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::failure::CallFailure;

/// Those of the five tools, by name.
static TABLES: LazyLock<HashMap<&'static str, ToolArguments>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("arguments.json")).expect("a test reads the same text")
});

/// The most variants that a parameter's description names. A longer list says little, and the
/// answer to a wrong call has it.
const NAMED: usize = 2;

/// Marks a parameter that few calls need: of the five tools its choice names it, and no more.
const RARE: &str = "x-rare";

/// Marks a parameter that only a tool of one choice lists. The choice of the five tools says in its
/// own words that there are more.
const SPLIT: &str = "x-split";

/// Marks a parameter that is taken and listed nowhere.
const SILENT: &str = "x-silent";

/// The values of a parameter that have several types. Model APIs cannot read those in a schema.
const VALUES: &str = "x-values";

/// The arguments of a tool of the five.
///
/// # Panics
///
/// If there is no tool of this name.
pub(super) fn arguments_of(tool: &str) -> &'static ToolArguments {
    &TABLES[tool]
}

/// The arguments of a tool.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(super) struct ToolArguments {
    /// The parameter that selects the variant, if there are several.
    pub(super) selector: Option<Box<str>>,
    /// Parameters that every variant takes.
    pub(super) common: Map<String, Value>,
    /// The choices of the selector, in the order of the Rust enum.
    pub(super) variants: Vec<ArgumentVariant>,
}

/// One choice, with its own parameters.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
pub(super) struct ArgumentVariant {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) required: Vec<String>,
    pub(super) properties: Map<String, Value>,
}

impl ToolArguments {
    /// The flat JSON Schema (2020-12).
    pub(super) fn schema(&self) -> Value {
        let listed =
            |schema: &Value| [RARE, SPLIT, SILENT].iter().all(|mark| schema.get(mark).is_none());
        let mut merged = Map::new();
        if let Some(selector) = self.selector() {
            merged.insert(selector.to_owned(), Value::Null);
        }
        for (name, schema) in self.variants.iter().flat_map(|variant| &variant.properties) {
            // The first variant describes a shared parameter: all text here is paid for with tokens.
            if listed(schema) {
                merged.entry(name).or_insert_with(|| self.describe(name, schema));
            }
        }
        if let Some(selector) = self.selector() {
            merged[selector] = self.selector_schema(&merged);
        }
        let common = self.common.iter().filter(|(_, schema)| listed(schema));
        merged.extend(common.map(|(name, schema)| (name.clone(), schema.clone())));
        let required = match (self.selector(), &self.variants[..]) {
            (Some(selector), _) => json!([selector]),
            (None, [only, ..]) => json!(only.required),
            (None, []) => json!([]),
        };
        object_schema(merged, required)
    }

    /// The description of one choice, and the flat schema of a tool that is this choice alone:
    /// `without` some of its parameters, which `requires` others and lists some of the `common` ones.
    pub(super) fn flat(
        &self,
        choice: Option<&str>,
        without: &[&str],
        requires: &[&str],
        common: &[&str],
    ) -> (&str, Value) {
        let is_it = |variant: &&ArgumentVariant| choice.is_none_or(|name| variant.name == name);
        let Some(variant) = self.variants.iter().find(is_it) else { return ("", json!({})) };
        let is_listed = |(name, schema): &(&String, &Value)| {
            schema.get(SILENT).is_none() && !without.contains(&name.as_str())
        };
        let own = variant.properties.iter().filter(is_listed);
        let shared = self.common.iter().filter(|(name, _)| common.contains(&name.as_str()));
        let listed = own.chain(shared).map(|(name, schema)| (name.clone(), schema.clone()));
        let required = variant.required.iter().map(String::as_str).chain(requires.iter().copied());
        (&variant.description, object_schema(listed.collect(), required.collect()))
    }

    /// The schema of a parameter of this choice, or of any, also of a parameter that is not listed.
    pub(super) fn parameter(&self, choice: Option<&str>, name: &str) -> Option<&Value> {
        let is_it = |variant: &&ArgumentVariant| choice.is_none_or(|choice| variant.name == choice);
        let own =
            self.variants.iter().filter(is_it).find_map(|variant| variant.properties.get(name));
        own.or_else(|| self.common.get(name))
    }

    /// The parameter that selects a choice, if there are several.
    pub(super) fn selector(&self) -> Option<&str> {
        self.selector.as_deref()
    }

    /// Each choice with the names of its parameters, those that every choice takes among them.
    #[cfg(test)]
    pub(super) fn choices(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        let common = self.common.keys();
        self.variants.iter().map(move |variant| {
            let names = variant.properties.keys().chain(common.clone());
            (variant.name.as_str(), names.map(String::as_str).collect())
        })
    }

    fn selector_schema(&self, listed: &Map<String, Value>) -> Value {
        let names: Vec<_> = self.variants.iter().map(|variant| &variant.name).collect();
        let lines = self.variants.iter().map(|variant| variant.line(listed));
        json!({"type": "string", "enum": names, "description": lines.collect::<Vec<_>>().join("\n")})
    }

    /// A variant's parameter, saying which variants it is for.
    fn describe(&self, name: &str, schema: &Value) -> Value {
        let takers: Vec<_> = self.takers(name).collect();
        let mut schema = schema.clone();
        let mut others = self.variants.iter().filter_map(|variant| variant.properties.get(name));
        if others.any(|other| other["type"] != schema["type"])
            && let Some(words) = schema.as_object_mut()
        {
            // Choices that disagree on the type: the check knows each choice's own.
            words.retain(|word, _| word == "description");
        }
        if takers.len() <= NAMED
            && self.selector.is_some()
            && let Some(Value::String(text)) = schema.get_mut("description")
        {
            *text = format!("({}) {text}", takers.join(", "));
        }
        schema
    }

    fn takers<'a>(&'a self, param: &'a str) -> impl Iterator<Item = &'a str> {
        let takers = self.variants.iter().filter(move |v| v.properties.contains_key(param));
        takers.map(|variant| variant.name.as_str())
    }

    /// Checks arguments. Whole numbers that came as `5.0` come out as `5`.
    pub(super) fn check(
        &self,
        mut given: Map<String, Value>,
    ) -> Result<Map<String, Value>, CallFailure> {
        let variant = self.select(&given)?;
        for (name, value) in &mut given {
            if Some(name.as_str()) == self.selector() {
                continue;
            }
            let schema = variant.properties.get(name).or_else(|| self.common.get(name));
            let schema = schema.ok_or_else(|| self.unknown(variant, name))?;
            check_value(name, schema, value)?;
        }
        match variant.required.iter().find(|name| !given.contains_key(*name)) {
            Some(missing) => Err(self.missing(variant, missing)),
            None => Ok(given),
        }
    }

    fn select(&self, given: &Map<String, Value>) -> Result<&ArgumentVariant, CallFailure> {
        let Some(selector) = self.selector() else { return Ok(&self.variants[0]) };
        let names = || self.variants.iter().map(|variant| variant.name.as_str());
        let wrong = |error, message: String, hint: String| {
            CallFailure::new(error, message, hint)
                .about(selector)
                .expecting(names().collect::<Value>())
        };
        let Some(value) = given.get(selector) else {
            let message = format!("missing argument `{selector}`");
            return Err(wrong("missing_argument", message, self.list_of_choices()));
        };
        let Value::String(name) = value else {
            let message = format!("`{selector}` must be a string, not {}", kind(value));
            return Err(wrong("invalid_argument", message, self.list_of_choices()));
        };
        self.variants.iter().find(|variant| variant.name == *name).ok_or_else(|| {
            let hint = closest(name, names())
                .map_or_else(|| self.list_of_choices(), |near| format!("Did you mean `{near}`?"));
            wrong("invalid_argument", format!("invalid value `{name}` for `{selector}`"), hint)
        })
    }

    fn list_of_choices(&self) -> String {
        let names: Vec<_> = self.variants.iter().map(|variant| variant.name.as_str()).collect();
        format!("Set `{}` to one of: {}.", self.selector().unwrap_or_default(), names.join(", "))
    }

    fn unknown(&self, variant: &ArgumentVariant, name: &str) -> CallFailure {
        let takers: Vec<_> = self.takers(name).collect();
        let known = || variant.properties.keys().chain(self.common.keys()).map(String::as_str);
        // A parameter of another variant is a wrong choice, and no slip of the keyboard.
        let hint = if takers.is_empty() {
            let all = known().collect::<Vec<_>>().join(", ");
            closest(name, known().chain(self.selector())).map_or_else(
                || format!("{} accepts: {all}.", variant.name),
                |near| format!("Did you mean `{near}`?"),
            )
        } else {
            format!("`{name}` belongs to {}; omit it.", takers.join(", "))
        };
        let message = format!("unknown argument `{name}` for {}", variant.name);
        CallFailure::new("unknown_argument", message, hint)
            .about(name)
            .expecting(known().collect::<Value>())
    }

    fn missing(&self, variant: &ArgumentVariant, name: &str) -> CallFailure {
        let about = variant.properties.get(name).and_then(|schema| schema["description"].as_str());
        let message = format!("missing argument `{name}` for {}", variant.name);
        let hint = format!("Add `{name}`: {}", about.unwrap_or("see the tool's inputSchema."));
        let missing = CallFailure::new("missing_argument", message, hint).about(name);
        match variant.properties.get(name) {
            Some(schema) => missing.expecting(schema["type"].clone()),
            None => missing,
        }
    }
}

impl ArgumentVariant {
    /// What its tool says of it: its description, and its parameters that the tool does not list.
    fn line(&self, listed: &Map<String, Value>) -> String {
        let is_unlisted = |(name, schema): &(&String, &Value)| {
            schema.get(RARE).is_some() && !listed.contains_key(*name)
        };
        let unlisted = self.properties.iter().filter(is_unlisted).map(|(name, _)| name.as_str());
        let unlisted = unlisted.collect::<Vec<_>>().join(", ");
        let also = if unlisted.is_empty() { unlisted } else { format!(" ({unlisted})") };
        format!("{}{also}: {}", self.name, self.description)
    }
}

/// The schema of an object with these properties, as clients are shown it.
fn object_schema(mut properties: Map<String, Value>, required: Value) -> Value {
    properties.values_mut().for_each(make_listed);
    let mut schema = json!({"type": "object", "properties": properties});
    if required != json!([]) {
        schema["required"] = required;
    }
    schema
}

/// Drops what is for the check alone.
fn make_listed(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    // A lower bound of 0 or 1 is plain, and a wrong call gets an error.
    if object.get("minimum").is_some_and(|least| *least == 0 || *least == 1) {
        object.shift_remove("minimum");
    }
    object.retain(|word, _| ![RARE, SPLIT, SILENT, VALUES].contains(&word.as_str()));
    // The members of listed objects stand in the parameter's own description: that is shorter.
    if let Some(items) = object.get_mut("items").filter(|items| items["type"] == "object") {
        *items = json!({"type": "object"});
    }
}

/// A whole number is one however it is written.
fn make_whole(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if let Some(number) = value.as_f64().filter(|_| value.is_f64())
        && number.fract() == 0.0
        && number.abs() < EXACT
    {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
        let whole = number as i64;
        *value = whole.into();
    }
}

/// Whether the value fits. A schema without a type takes any, and leaves it as it is.
fn check_value(name: &str, schema: &Value, value: &mut Value) -> Result<(), CallFailure> {
    let wrong = |message: String, expected: Value, hint: String| {
        CallFailure::of_param(name, message, hint).expecting(expected)
    };
    if let Some(values) = schema[VALUES].as_array().filter(|values| !values.contains(&*value)) {
        let hint = format!("Give `{name}` one of {}.", Value::from(values.clone()));
        return Err(wrong(
            format!("invalid value {value} for `{name}`"),
            values.clone().into(),
            hint,
        ));
    }
    let Some(wanted) = schema["type"].as_str() else { return Ok(()) };
    // Some clients write every number with a fraction.
    if wanted == "integer" {
        make_whole(value);
    }
    let is_number = wanted == "number" && value.is_number();
    if kind(value) != wanted && !is_number {
        let message = format!("`{name}` must be of type {wanted}, not {}", kind(value));
        let hint = format!("Pass a value of type {wanted} for `{name}`, or omit it.");
        return Err(wrong(message, wanted.into(), hint));
    }
    if let Value::Array(items) = value {
        return items.iter_mut().try_for_each(|item| check_value(name, &schema["items"], item));
    }
    if let Some(choices) = schema["enum"].as_array()
        && !choices.contains(&*value)
    {
        let near =
            closest(value.as_str().unwrap_or_default(), choices.iter().filter_map(Value::as_str));
        let hint = near.map_or_else(
            || "Use one of the values in `expected`.".to_owned(),
            |near| format!("Did you mean `{near}`?"),
        );
        return Err(wrong(
            format!("invalid value {value} for `{name}`"),
            choices.clone().into(),
            hint,
        ));
    }
    let (least, most) = (schema["minimum"].as_i64(), schema["maximum"].as_i64());
    // A number beyond i64 must be out of every range and not without one.
    let number = value.as_i64().or(value.is_u64().then_some(i64::MAX));
    match (number, least.unwrap_or(i64::MIN), most.unwrap_or(i64::MAX)) {
        (Some(number), least, most) if !(least..=most).contains(&number) => {
            let range = format!("{least} to {most}");
            let hint = format!("Pass a number from {range} for `{name}`.");
            Err(wrong(format!("`{name}` is out of range: {value}"), range.into(), hint))
        }
        _ => Ok(()),
    }
}

/// A value's type, as JSON Schema calls it.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The known name that is most like this one, if any is.
#[must_use]
pub fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Swapped letters count as one slip, and a name that breaks off is a good guess.
    let likeness = |known: &str| {
        let breaks_off = name.len() > 2 && known.starts_with(name);
        strsim::normalized_damerau_levenshtein(name, known).max(if breaks_off { 0.9 } else { 0.0 })
    };
    known
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness > 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}
