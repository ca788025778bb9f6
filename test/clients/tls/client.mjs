// Connects to each case over TLS and prints `HOST ok` or `HOST refused ERROR`.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { checkServerIdentity, connect } from 'node:tls'

const [, , casesFile, caFile] = process.argv
const ca = readFileSync(caFile)
for (const { host, port } of JSON.parse(readFileSync(casesFile))) {
  const verdict = await new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, ca, servername: isIP(host) ? '' : host }
    const socket = connect({ ...options, checkServerIdentity: (_, cert) => checkServerIdentity(host, cert) })
    socket.once('secureConnect', () => resolve('ok'))
    socket.once('error', (error) => resolve(`refused ${error.message}`))
    socket.once('secureConnect', () => socket.destroy())
  })
  console.log(`${host} ${verdict}`)
}
