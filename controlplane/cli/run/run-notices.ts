import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { authorityText } from '../../../core/request/authority-text.ts'
import { ungovernedOf } from '../doctor/clients.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import type { AgentProgram } from './agent-programs.ts'
import { commandRuntime } from './command-runtime.ts'
import type { DirectConnection } from './direct-connections.ts'

/** Folders that may contain starter policies: beside the bundled program, and in a checkout. */
const STARTER_FOLDERS = ['./starters/', '../../../starters/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
)

/**
 * Returns the notice that is printed before a command starts without capture. The notice names the connections that the
 * gateway does not govern.
 */
export function limitNotice(command: string, env: NodeJS.ProcessEnv): string {
  const runtime = commandRuntime(command, env)
  const ungoverned = runtime === null ? null : ungovernedOf(runtime, env)
  const known = ungoverned ? ` Not governed with ${runtime}: ${ungoverned}.` : ''
  return `chaperone: clients that use the proxy variables are governed.${known} A program can bypass the variables; use --capture to prevent this (chaperone doctor lists the limits).`
}

/** Returns the notice about a connection that bypasses the gateway. */
export function bypassNotice({ program, pid, address, port }: DirectConnection): string {
  return `chaperone: ${program} (pid ${pid}) has connected to ${authorityText(address, port)} without the gateway: no rules apply and nothing is recorded. Use chaperone run --capture to govern such connections.`
}

/**
 * Returns the notice about the starter policy of an agent program; null when the manifests folder has a file with the
 * policy's name.
 *
 * @param command Command line that runs this program in the working directory, with the options that select the
 * installation.
 */
export function starterNotice(
  { name, starter }: AgentProgram,
  { manifests, command }: { readonly manifests: string; readonly command: string },
): string | null {
  const file = `${starter}.yaml`
  const path = STARTER_FOLDERS.map((folder) => join(folder, file)).find((each) => existsSync(each))
  if (path === undefined || existsSync(join(manifests, file))) return null
  return `chaperone: there is a starter policy for ${name}, which is not in force. Apply it: ${command} -f ${shellQuote(path)}`
}
