import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as z from 'zod'
import { isErrno } from '../journal/segments/errno.ts'
import type { KeyedPort } from '../pipeline/credentials/credentials.ts'
import type { Log } from '../process/log.ts'

/** Proxy ports on loopback, one for each agent. An agent keeps its port across restarts of the gateway. */
export type AgentPorts = {
  /** Opens all stored ports. A port that another process holds is replaced by a free one, with a warning. */
  reopen(): Promise<void>
  /** Returns the port of the agent and opens it if needed. */
  open(agent: string): Promise<number>
  /** Closes the port of the agent. Returns false when the agent has no port. */
  close(agent: string): Promise<boolean>
  portOf(agent: string): number | null
}

/** The part of the listener that opens and closes ports. */
export type PortOpener = {
  openAgentPort(agent: string, port: number, accepts: KeyedPort['accepts']): Promise<number>
  closeAgentPort(agent: string): Promise<void>
}

export type AgentPortsDeps = {
  readonly file: string
  readonly front: PortOpener
  readonly accepts: KeyedPort['accepts']
  readonly log: Pick<Log, 'warn'>
}

const PortsFile = z.array(z.object({ agent: z.string(), port: z.number().int().min(1).max(65_535) }))

export function createAgentPorts({ file, front, accepts, log }: AgentPortsDeps): AgentPorts {
  const ports = new Map<string, number>()
  let queue: Promise<unknown> = Promise.resolve()

  /** Serializes changes, so that two registrations of one name share one port. */
  function serialize<T>(work: () => Promise<T>): Promise<T> {
    const turn = queue.then(work, work)
    queue = turn.catch(() => undefined)
    return turn
  }

  async function openAt(agent: string, wanted: number): Promise<void> {
    try {
      ports.set(agent, await front.openAgentPort(agent, wanted, accepts))
    } catch (error) {
      if (!isErrno(error, 'EADDRINUSE') && !isErrno(error, 'EACCES')) throw error
      const port = await front.openAgentPort(agent, 0, accepts)
      ports.set(agent, port)
      log.warn(
        { agent, wanted, port },
        'the proxy port of an agent is in use by another process, so the agent got a new port; start the programs of the agent again with the new address',
      )
    }
  }

  async function save(): Promise<void> {
    const entries = [...ports].map(([agent, port]) => ({ agent, port }))
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await writeFile(`${file}.new`, JSON.stringify(entries), { mode: 0o600 })
    await rename(`${file}.new`, file)
  }

  async function openNew(agent: string): Promise<number> {
    const known = ports.get(agent)
    if (known !== undefined) return known
    const port = await front.openAgentPort(agent, 0, accepts)
    ports.set(agent, port)
    await save()
    return port
  }

  async function shut(agent: string): Promise<boolean> {
    if (!ports.delete(agent)) return false
    await front.closeAgentPort(agent)
    await save()
    return true
  }

  return {
    reopen: () =>
      serialize(async () => {
        for (const { agent, port } of await readPorts(file, log)) await openAt(agent, port)
        await save()
      }),
    open: (agent) => serialize(() => openNew(agent)),
    close: (agent) => serialize(() => shut(agent)),
    portOf: (agent) => ports.get(agent) ?? null,
  }
}

async function readPorts(file: string, log: AgentPortsDeps['log']): Promise<z.infer<typeof PortsFile>> {
  try {
    return PortsFile.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    log.warn({ err: error, file }, 'stored agent ports cannot be read; register the agents again')
    return []
  }
}
