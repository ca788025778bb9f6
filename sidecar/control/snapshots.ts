import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { AckBody, DownMessage } from '../../core/wire/sync.ts'
import { type Clock, isoNow } from '../clock.ts'
import { createBackoff, pause } from './backoff.ts'
import type { ControlClient } from './client.ts'
import { fetchSections, SectionRefused, type Sections } from './sections.ts'

export type Manifest = Extract<DownMessage, { type: 'manifest' }>

export type BuildSnapshot = (
  input: {
    readonly version: number
    readonly sections: Readonly<Record<string, unknown>>
    readonly hashes: Readonly<Record<string, string>>
  },
  previous?: Snapshot,
) => Snapshot | Promise<Snapshot>

/** The one snapshot in force. A wrong manifest is refused and reported; the last good one stays. */
export type Snapshots = {
  current(): Snapshot | null
  /** Applies the newest manifest offered; earlier ones that are not applied yet are skipped. Returns at once. */
  offer(manifest: Manifest): void
  close(): void
}

export type SnapshotsDeps = {
  readonly client: ControlClient
  readonly build: BuildSnapshot
  readonly ack: (body: AckBody) => void
  readonly onSnapshot: (snapshot: Snapshot) => void
  readonly clock: Clock
  readonly random: () => number
  readonly log: {
    warn(fields: object, message: string): void
    info(fields: object, message: string): void
  }
}

export function createSnapshots(deps: SnapshotsDeps): Snapshots {
  let current: Snapshot | null = null
  let sections: Sections = new Map()
  let wanted: Manifest | null = null
  let running = new AbortController()
  let isRunning = false

  async function apply(manifest: Manifest): Promise<void> {
    const next = await fetchSections(deps.client, manifest.sections, sections)
    const values = Object.fromEntries([...next].map(([name, section]) => [name, section.value]))
    const { version, sections: hashes } = manifest
    const snapshot = await build({ version, sections: values, hashes })
    // Both together and only now: a request sees the old one or the new one.
    current = snapshot
    sections = next
    deps.onSnapshot(snapshot)
    deps.ack({ version, applied_at: isoNow(deps.clock) })
    deps.log.info({ version }, 'snapshot applied')
  }

  async function build(input: Parameters<BuildSnapshot>[0]): Promise<Snapshot> {
    try {
      return await deps.build(input, current ?? undefined)
    } catch (error) {
      throw new SectionRefused(error instanceof Error ? error.message : String(error), { cause: error })
    }
  }

  /** Until it is applied, refused, or a newer one is wanted. */
  async function settle(manifest: Manifest, signal: AbortSignal): Promise<void> {
    const backoff = createBackoff(deps.random)
    while (!signal.aborted) {
      try {
        return await apply(manifest)
      } catch (error) {
        if (error instanceof SectionRefused) return refuse(manifest.version, error)
        deps.log.warn({ err: error, version: manifest.version }, 'sections cannot be fetched; trying again')
      }
      await pause(backoff.next(), signal)
    }
  }

  function refuse(version: number, error: SectionRefused): void {
    const kept = current?.version ?? null
    deps.log.warn({ err: error, version, kept }, 'manifest refused; the last good snapshot stays')
    deps.ack({ rejected: { version, error: error.message }, applied_at: isoNow(deps.clock) })
  }

  async function run(): Promise<void> {
    isRunning = true
    for (let next = wanted; next !== null; next = wanted) {
      wanted = null
      running = new AbortController()
      await settle(next, running.signal)
    }
    isRunning = false
  }

  return {
    current: () => current,
    offer(manifest) {
      wanted = manifest
      if (isRunning) running.abort()
      else void run()
    },
    close() {
      wanted = null
      running.abort()
    },
  }
}
