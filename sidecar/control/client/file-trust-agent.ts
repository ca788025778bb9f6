import { readFile } from 'node:fs/promises'
import { Agent, type AgentOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect } from 'node:tls'

/**
 * Believes the authorities in a file and no others. They are renewed while the process runs: each connection reads
 * them anew.
 */
export class FileTrustAgent extends Agent {
  readonly #caFile: string

  constructor(caFile: string, options: AgentOptions) {
    super(options)
    this.#caFile = caFile
  }

  override createConnection(
    options: ConnectionOptions,
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    readFile(this.#caFile, 'utf8').then(
      (ca) => callback?.(null, connect({ ...options, ca })),
      (cause: unknown) => Reflect.apply(callback ?? ignore, undefined, [unreadable(this.#caFile, cause)]),
    )
  }
}

function unreadable(caFile: string, cause: unknown): Error {
  const message = `CONTROL_PLANE_CA_FILE: ${caFile} cannot be read. Set it to a PEM file with the control plane's authority.`
  return new Error(message, { cause })
}

function ignore(): void {}
