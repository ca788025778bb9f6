import { readFile } from 'node:fs/promises'
import { Agent, type AgentOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect } from 'node:tls'

/**
 * HTTPS agent that trusts only the CA certificates in a file. Reads the file for each connection, because it is
 * rotated while the process runs.
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
  const message = `CONTROL_PLANE_CA_FILE: ${caFile} cannot be read. Set it to a PEM file with the CA certificate of the control plane.`
  return new Error(message, { cause })
}

function ignore(): void {}
