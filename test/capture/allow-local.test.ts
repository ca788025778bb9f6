import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { allowedPorts } from '../../controlplane/cli/capture/allowed-ports.ts'
import { dataFolder } from '../../controlplane/cli/state/data-folder.ts'
import { POD_PORTS } from '../../core/capture/pod-contract.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { CommandResult } from '../support/run-command.ts'
import { noNamespaces } from './network.ts'

const reason = noNamespaces()
/** Prints what each server answers, or why it does not. */
const READ = `import socket, sys
for place in sys.argv[1:]:
  host, _, port = place.rpartition(" ")
  try:
    s = socket.create_connection((host, int(port)), 10)
    s.sendall(b"question"); s.shutdown(socket.SHUT_WR); print(s.makefile().read())
  except OSError as error: print("refused", error)`

describe.skipIf(reason !== null)(
  `run --capture --allow-local${reason === null ? '' : ` (${reason})`}`,
  () => {
    let laptop: Laptop
    const servers: Server[] = []
    const ports: number[] = []
    beforeAll(async () => {
      // The port of the embedded PostgreSQL must not be accessible.
      laptop = await startLaptop({ isCaptured: true })
      for (const name of ['first', 'second']) ports.push(await answering(name))
    })
    afterAll(async () => {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
      await laptop?.stop()
    })

    /** A server of this machine that reads to the end and then responds. */
    async function answering(name: string): Promise<number> {
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        let read = ''
        socket.on('error', () => socket.destroy())
        socket.on('data', (chunk) => {
          read += String(chunk)
        })
        socket.on('end', () => socket.end(`${name} got ${read}`))
      })
      servers.push(server)
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const address = server.address()
      return typeof address === 'object' && address !== null ? address.port : 0
    }

    const run = (options: readonly string[], ...command: string[]): Promise<CommandResult> =>
      laptop.cli(['run', ...options, '--', ...command])
    const allow = (...allowed: readonly number[]) => [
      '--capture',
      ...allowed.flatMap((port) => ['--allow-local', String(port)]),
    ]
    const read = (...places: ReadonlyArray<readonly [host: string, port: number]>) => [
      ...['/usr/bin/python3', '-c', READ],
      ...places.map((place) => place.join(' ')),
    ]

    test('can use the given ports, by every name of loopback, and no other port', async () => {
      const [first = 0, second = 0] = ports
      const names = ['127.0.0.1', 'localhost', '::1'].map((host) => [host, first] as const)
      const one = await run(allow(first), ...read(...names, ['127.0.0.1', second]))
      expect(one.stdout).toMatch(/^(first got question\n){3}refused .*\n$/)
      const both = await run(allow(first, second, first), ...read(['127.0.0.1', second]))
      expect(both.stdout).toBe('second got question\n')
      expect((await run(allow(), ...read(['127.0.0.1', first]))).stdout).toMatch(/^refused .*\n$/)
    })

    test('hides the sockets of the ports from the command, and removes them at the end', async () => {
      const [first = 0] = ports
      const seen = await run(allow(first), 'sh', '-c', `ls ${join(laptop.data, 'gateway')}`)
      expect(seen.stdout).toBe('')
      expect(readdirSync(join(laptop.data, 'gateway')).filter((name) => name.startsWith('l-'))).toEqual([])
    })

    test('closes the connection when no server listens', async () => {
      const free = await answering('gone')
      const server = servers.pop()
      await new Promise((resolve) => server?.close(resolve))
      expect((await run(allow(free), ...read(['127.0.0.1', free]))).stdout).not.toContain('got')
    })

    test('rejects the ports of the installation, with every data folder', async () => {
      const env = { XDG_STATE_HOME: join(laptop.data, '..', 'state') }
      const { base_url, gateway_url } = laptop.ready
      const database =
        readFileSync(join(laptop.data, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[3] ?? ''
      const own = [...[base_url, gateway_url].map((url) => new URL(url).port), database]
      for (const port of own) {
        const refused = await run(allow(Number(port)), 'true')
        expect(refused).toMatchObject({ code: 1, stdout: '' })
        expect(refused.stderr).toContain('belongs to an installation')
      }
      const elsewhere = dataFolder(join(laptop.data, '..', 'another'))
      for (const port of own)
        expect(() => allowedPorts([port], { folder: elsewhere, env })).toThrow('belongs to an installation')
    })

    test('is rejected without --capture', async () => {
      const refused = await run(['--allow-local', '5432'], 'true')
      expect(refused.code).toBe(2)
      expect(refused.stderr).toContain('--allow-local requires --capture')
    })
  },
)

describe('ports of --allow-local', () => {
  const place = { folder: dataFolder('/nonexistent/data'), env: { XDG_STATE_HOME: '/nonexistent/state' } }

  test.each([
    '',
    '0',
    '-1',
    '65536',
    '99999',
    '5432x',
    '0x1538',
    '5e3',
    ' 5432',
    '5432,6379',
    '١٢',
    '1.5',
    '+1',
    '00443',
  ])('%o is not a port', (text) => {
    expect(() => allowedPorts([text], place)).toThrow('is not a port')
  })

  test.each(Object.entries(POD_PORTS))('the port of the capture itself (%s) is refused', (_name, port) => {
    expect(() => allowedPorts(['5432', String(port)], place)).toThrow('used by the capture')
  })

  test('duplicates are removed', () => {
    expect(allowedPorts(['5432', '6379', '5432'], place)).toEqual([5_432, 6_379])
  })
})
