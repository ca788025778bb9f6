// One call of an unmodified gRPC client, set up by its environment alone; prints what its user would see as JSON.
import { once } from 'node:events'
import grpc from '@grpc/grpc-js'

const [host, name] = process.argv.slice(2)
const same = (bytes) => bytes
const client = new grpc.Client(`${host}:443`, grpc.credentials.createSsl())
const path = `/notes.v1.Notes/${name}`
const deadline = { deadline: Date.now() + 30_000 }

async function chat() {
  const call = client.makeBidiStreamRequest(path, same, same, deadline)
  const answers = []
  for (let i = 0; i < 5; i++) {
    call.write(Buffer.from(`message ${i}`))
    const [answer] = await once(call, 'data')
    answers.push(String(answer))
  }
  call.end()
  return answers.join(', ')
}

function unary() {
  const metadata = new grpc.Metadata()
  metadata.set('authorization', 'Bearer agents-own')
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, same, same, Buffer.from('hello'), metadata, deadline, (error, value) =>
      error === null ? resolve(String(value)) : reject(error),
    )
  })
}

try {
  const value = await (name === 'Chat' ? chat() : unary())
  process.stdout.write(`${JSON.stringify({ ok: true, value })}\n`)
} catch (error) {
  const code = grpc.status[error.code] ?? String(error.code)
  process.stdout.write(`${JSON.stringify({ ok: false, code, details: String(error.details ?? error) })}\n`)
}
process.exit(0)
