import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../../controlplane/cli/postgres/free-port.ts'
import { type Bed, isInstalled, type Subject, started } from './subject.ts'

export async function startHaproxy(bed: Bed): Promise<Subject | string> {
  if (!isInstalled('haproxy')) return 'not installed (apt-get install haproxy)'
  const port = await freePort()
  const folder = join(bed.folder, 'haproxy')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'front.pem'),
    readFileSync(bed.certFile, 'utf8') + readFileSync(bed.keyFile, 'utf8'),
  )
  const map = Array.from({ length: 999 }, (_, i) => `/v1/bench_${i} allow`).concat('/v1/ allow')
  writeFileSync(join(folder, 'permissions.map'), `${map.join('\n')}\n`)
  const log = await receiveLog()
  writeFileSync(join(folder, 'haproxy.cfg'), haproxyConfig(bed, { folder, port, logPort: log.port }))
  const child = spawn('haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' })
  return started('haproxy', child, {
    target: { port, via: 'reverse', ca: readFileSync(bed.caFile, 'utf8') },
    records: log.close,
  })
}

type HaproxyPlace = { readonly folder: string; readonly port: number; readonly logPort: number }

function haproxyConfig(bed: Bed, { folder, port, logPort }: HaproxyPlace): string {
  return `global
  nbthread 1
  maxconn 4000
  log 127.0.0.1:${logPort} local0
defaults
  mode http
  log global
  option httplog
  timeout connect 10s
  timeout client 300s
  timeout server 300s
frontend agents
  bind 127.0.0.1:${port} ssl crt ${join(folder, 'front.pem')}
  http-request set-var(txn.decision) path,map_beg(${join(folder, 'permissions.map')},deny)
  http-request deny if { var(txn.decision) -m str deny }
  http-request set-header Authorization "Bearer sk-bench-injected"
  default_backend upstream
backend upstream
  http-reuse always
  server upstream 127.0.0.1:${bed.upstreamPort} ssl verify required ca-file ${bed.caFile} sni str(api.openai.com) verifyhost api.openai.com
`
}

/** Where haproxy's one line per request goes: somebody has to take it, or sending it fails. */
async function receiveLog(): Promise<{ readonly port: number; close(): number }> {
  const socket = createSocket('udp4')
  let lines = 0
  socket.on('message', (line) => {
    // A connection that was only probed is logged too, without a request.
    if (/"(?:GET|POST) /.test(line.toString('latin1'))) lines += 1
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  return {
    port: socket.address().port,
    close() {
      socket.close()
      return lines
    },
  }
}
