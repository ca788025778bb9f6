import { Journal } from '../../../sidecar/journal/journal.ts'
import { recordJson } from '../../../sidecar/pipeline/record/record-json.ts'
import { trafficRecord } from './traffic-record.ts'

/** Says each id after the journal said that it is written, as fast as it can, until it is killed. */
const [dir = ''] = process.argv.slice(2)
const quiet = { warn: () => undefined, info: () => undefined }
const journal = new Journal({ dir, processId: 'proc_crash', maxBytes: 64 << 20, log: quiet })
let n = 0
async function turn(): Promise<void> {
  const lines: string[] = []
  const written: Promise<undefined>[] = []
  for (let i = 0; i < 20; i++, n++) {
    const record = trafficRecord({ id: `rec_${n}`, seq: journal.nextSeq(), process_id: journal.processId })
    const intent = journal.intent(record)
    written.push(intent.written)
    lines.push(`intent ${record.id}`)
    if (n % 3 !== 0) journal.result(record, Buffer.from(recordJson(record)), intent)
  }
  await Promise.all(written)
  process.stdout.write(`${lines.join('\n')}\n`, () => setImmediate(() => void turn()))
}
await turn()
