import type { DirectConnection } from './direct-connections.ts'
import { ungovernedOf } from './doctor/clients.ts'
import { runtimeOf } from './runtime-of.ts'

/** The line before a command starts without capture: what of it the gateway does not see. */
export function limitNotice(command: string, env: NodeJS.ProcessEnv): string {
  const runtime = runtimeOf(command, env)
  const ungoverned = runtime === null ? null : ungovernedOf(runtime, env)
  const known = ungoverned ? ` Not governed with ${runtime}: ${ungoverned}.` : ''
  return `chaperone: governs what uses the proxy variables.${known} A program that looks for a way around finds one: --capture holds it (chaperone doctor lists the limits).`
}

/** The line for a program that was seen to go around. */
export function bypassNotice({ program, pid, address, port }: DirectConnection): string {
  const authority = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  return `chaperone: ${program} (process ${pid}) has connected to ${authority} without the gateway: no rule applies there and nothing is recorded. Start it with chaperone run --capture to govern it, too.`
}
