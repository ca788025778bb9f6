import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { ChaperoneError } from '../../../core/errors.ts'

/**
 * Returns the wanted port, or any free port for 0. Throws `conflict` with the option to change when the port cannot
 * be used.
 */
export async function choosePort(host: string, wanted: number, option: string): Promise<number> {
  const server = createServer()
  server.listen(wanted, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new ChaperoneError('conflict', { detail: describe(host, wanted, option, cause), cause })
  }
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function describe(host: string, port: number, option: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  if (code === 'EADDRINUSE') {
    return (
      `Port ${port} of ${host} is in use by another program. ` +
      `Give another port with ${option} PORT (0 for any free port), or stop that program.`
    )
  }
  if (code === 'EACCES') return `Port ${port} is privileged. Give another port with ${option} PORT.`
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
    return `${host} is not an address of this machine. Give another address with --host.`
  }
  return `Chaperone cannot listen on ${host}:${port}: ${String(cause)}. Give another port with ${option} PORT.`
}
