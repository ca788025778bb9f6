import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { createProbeConnections } from '../../../sidecar/capture/probe-connections.ts'
import { end } from '../../support/processes.ts'

/** Says on standard output its port, then from which port each connection came. */
const LISTENER = `
const server = require('node:net').createServer((socket) => {
  console.log(socket.remotePort)
  socket.on('error', () => undefined)
})
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(server.address().port))
`

test('a probe whose SYN an overloaded listener drops is not reported as escaped: the retransmission lands', async () => {
  const listener = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] })
  const others: Socket[] = []
  try {
    const shots = createProbeConnections()
    let port = 0
    listener.stdout.on('data', (chunk: Buffer) => {
      for (const line of String(chunk).trim().split('\n')) {
        if (port === 0) port = Number(line)
        else shots.isProbe('tls', { remotePort: Number(line) })
      }
    })
    await once(listener.stdout, 'data')
    listener.kill('SIGSTOP')
    // More than its queue takes.
    for (let n = 0; n < 6; n++) others.push(connect({ host: '127.0.0.1', port }).on('error', () => undefined))
    await new Promise((resolve) => setTimeout(resolve, 200))
    const shot = shots.connect({ address: '127.0.0.1', port, kind: 'tls' })
    // Behind the second packet, which falls as the first did.
    setTimeout(() => listener.kill('SIGCONT'), 2_300)
    expect(await shot).toBe('landed')
  } finally {
    listener.kill('SIGCONT')
    for (const socket of others) socket.destroy()
    await end(listener)
  }
})
