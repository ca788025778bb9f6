import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ungovernedOf } from '../doctor/clients.ts'
import { shellQuote } from '../terminal/shell-quote.ts'
import type { AgentProgram } from './agent-programs.ts'
import { commandRuntime } from './command-runtime.ts'
import type { DirectConnection } from './direct-connections.ts'

/** Beside the bundled program, or in the checkout. */
const STARTER_FOLDERS = ['./starters/', '../../../starters/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
)

/** The line before a command starts without capture: what of it the gateway does not see. */
export function limitNotice(command: string, env: NodeJS.ProcessEnv): string {
  const runtime = commandRuntime(command, env)
  const ungoverned = runtime === null ? null : ungovernedOf(runtime, env)
  const known = ungoverned ? ` Not governed with ${runtime}: ${ungoverned}.` : ''
  return `chaperone: governs what uses the proxy variables.${known} A program that looks for a way around finds one: --capture holds it (chaperone doctor lists the limits).`
}

/** The line for a program that was seen to go around. */
export function bypassNotice({ program, pid, address, port }: DirectConnection): string {
  const authority = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  return `chaperone: ${program} (process ${pid}) has connected to ${authority} without the gateway: no rule applies there and nothing is recorded. Start it with chaperone run --capture to govern it, too.`
}

/**
 * The line that offers the starter of an agent program; null where the manifests folder has a file of its name.
 *
 * @param command How this program is called from the working directory, with the options that lead to its installation.
 */
export function starterNotice(
  { name, starter }: AgentProgram,
  { manifests, command }: { readonly manifests: string; readonly command: string },
): string | null {
  const file = `${starter}.yaml`
  const path = STARTER_FOLDERS.map((folder) => join(folder, file)).find((each) => existsSync(each))
  if (path === undefined || existsSync(join(manifests, file))) return null
  return `chaperone: ${name} has a starter set of rules, which is not in force here. Add it: ${command} -f ${shellQuote(path)}`
}
