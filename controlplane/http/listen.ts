import type { FastifyInstance } from 'fastify'

/** Listens; the error says which setting to change. */
export async function listen(
  app: FastifyInstance,
  { host, port, tls }: { readonly host: string; readonly port: number; readonly tls: unknown },
): Promise<{ readonly port: number; readonly url: string }> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw new Error(explain(error, host, port), { cause: error })
  }
  const address = app.server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no TCP address')
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return {
    port: address.port,
    url: `${tls === null ? 'http' : 'https'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${address.port}`,
  }
}

function explain(error: unknown, host: string, port: number): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  if (code === 'EADDRINUSE')
    return `port ${port} on ${host} is in use: stop what uses it, or set PORT to another one (0 = any)`
  if (code === 'EACCES') return `port ${port} may not be opened by this user: set PORT to one above 1023`
  return `cannot listen on ${host}:${port} (${code}): set HOST to an address of this machine`
}
