#!/usr/bin/env node
// Starts the program of this computer, which a package of its own has. Where Node can, the program takes Node's
// place, so that no Node is left behind while an MCP client uses it.
"use strict";

const { spawn } = require("node:child_process");

/** Whether this system has musl in the place of the GNU C library. */
function hasMusl() {
  if (process.platform !== "linux" || !process.report) return false;
  // The names of the network's hosts take seconds to find, and are not needed.
  process.report.excludeNetwork = true;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

/** The program in this package, or undefined if npm has not installed it. */
function programOf(name) {
  try {
    return require.resolve(`@tabwire/cli-${name}/bin/${process.platform === "win32" ? "tabwire.exe" : "tabwire"}`);
  } catch {
    return undefined;
  }
}

/** The program's path, or undefined if npm has installed no package for this computer. */
function findProgram() {
  const name = `${process.platform}-${process.arch}`;
  const [program, withMusl] = [programOf(name), programOf(`${name}-musl`)];
  // npm installs one of the two. Where both are there, Node takes some 10 ms to say which one fits.
  if (program === undefined || withMusl === undefined) return program ?? withMusl;
  return hasMusl() ? withMusl : program;
}

/** Runs the program as a child, for a Node that cannot give it its place. */
function runBeside(program, args) {
  const child = spawn(program, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => child.kill(signal));
  }
  child.on("error", (error) => {
    console.error(`tabwire: cannot start ${program}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exitCode = code;
    }
  });
}

const program = findProgram();
const args = process.argv.slice(2);
if (program === undefined) {
  console.error(
    `tabwire: npm has installed no program for ${process.platform} on ${process.arch}. If it left out optional ` +
      "packages, run `npm install -g tabwire --include=optional`; else this system is not supported.",
  );
  process.exitCode = 1;
} else if (typeof process.execve === "function" && process.platform !== "win32") {
  process.execve(program, [program, ...args], process.env);
} else {
  runBeside(program, args);
}
