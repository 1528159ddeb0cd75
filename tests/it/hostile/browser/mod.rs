//! Attacks on a real browser, or by what is in one.

mod asks;
mod denied_scripts;
mod drawings;
mod far_owners;
mod leases;
mod local_files;
mod own_pages;
mod own_words;
mod pages;
mod pollers;
mod private_windows;
mod prompts;
mod scripted;
mod scripts;
mod secrets;
mod shown_steps;
mod site_rules;
mod steps;
mod uploads;
