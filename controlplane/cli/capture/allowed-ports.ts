import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { POD_PORTS } from '../../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { installationFolders } from '../client/installation-key.ts'
import { type DataFolder, dataFolder, readRunFile } from '../state/data-folder.ts'

/**
 * Returns the ports of `--allow-local` without duplicates. Throws `conflict` for a port on which an installation of
 * this user listens, because the captured command could approve its own requests there.
 */
export function allowedPorts(
  texts: readonly string[],
  place: { readonly folder: DataFolder; readonly env: NodeJS.ProcessEnv },
): readonly number[] {
  const ports = [...new Set(texts.map(portIn))]
  if (ports.length === 0) return []
  // The getter `place.folder` locates the data folder and may throw, so `place` is read after the ports are checked.
  const { folder, env } = place
  const taken = new Set<number>(Object.values(POD_PORTS))
  const own = new Set([folder, ...installationFolders(env).map(dataFolder)].flatMap(portsOf))
  for (const port of ports) {
    if (own.has(port)) throw refusal(port, 'belongs to an installation of Chaperone')
    if (taken.has(port)) throw refusal(port, 'is used by the capture')
  }
  return ports
}

function portIn(text: string): number {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0
  if (port >= 1 && port <= 65_535) return port
  throw new ChaperoneError('validation', {
    detail: `--allow-local ${text} is not a port. Give a number from 1 to 65535, and repeat the option for each port.`,
  })
}

function portsOf(folder: DataFolder): readonly number[] {
  const facts = readRunFile(folder)
  const urls = [facts?.base_url, facts?.gateway_url].filter((url) => typeof url === 'string')
  return [...urls.map((url) => Number(new URL(url).port)), postgresPort(folder)]
}

/** Returns the port of the embedded PostgreSQL, from line 4 of its pid file. Returns 0 when there is no pid file. */
function postgresPort({ postgres }: DataFolder): number {
  const file = join(postgres, 'postmaster.pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8').split('\n')[3]) : 0
}

function refusal(port: number, why: string): ChaperoneError {
  return new ChaperoneError('conflict', {
    detail: `--allow-local ${port}: the port ${why}. Choose another port.`,
  })
}
