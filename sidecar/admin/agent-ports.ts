import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import * as z from 'zod'
import { isErrno } from '../journal/segments/errno.ts'
import type { KeyedPort } from '../pipeline/exchange.ts'
import type { Log } from '../process/log.ts'

/** Ports that belong to one agent each. The same name has the same port, also after a restart. */
export type AgentPorts = {
  /** Opens all remembered ports. One that is taken by somebody else gets another number, and a warning. */
  reopen(): Promise<void>
  /** The agent's port, opened when it is not. */
  open(agent: string): Promise<number>
  /** False when the agent has none. */
  close(agent: string): Promise<boolean>
  portOf(agent: string): number | null
}

/** What opens and closes; the listener does. */
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

  /** One at a time: two registrations of one name must end up with one port. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
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
      log.warn({ agent, wanted, port }, 'port of the agent is taken by another program; it has a new one')
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
      inTurn(async () => {
        for (const { agent, port } of await readPorts(file, log)) await openAt(agent, port)
        await save()
      }),
    open: (agent) => inTurn(() => openNew(agent)),
    close: (agent) => inTurn(() => shut(agent)),
    portOf: (agent) => ports.get(agent) ?? null,
  }
}

async function readPorts(file: string, log: AgentPortsDeps['log']): Promise<z.infer<typeof PortsFile>> {
  try {
    return PortsFile.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    log.warn({ err: error, file }, 'stored agent ports cannot be read; agents have to be registered again')
    return []
  }
}
