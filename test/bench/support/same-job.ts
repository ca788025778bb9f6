import { join } from 'node:path'
import { closedLoop } from './load.ts'
import type { Bed } from './subject.ts'
import { SUBJECTS } from './subjects.ts'
import { startImpostor } from './upstream-process.ts'

const REQUESTS = 40

/**
 * Whether a subject does the job that is measured: every request reaches the upstream with the credential, leaves
 * one record, and nothing is sent to an upstream whose certificate cannot be verified. Null, or what is amiss.
 */
export async function whyNotTheSameJob(name: string, bed: Bed): Promise<string | null> {
  const start = SUBJECTS[name]
  if (start === undefined)
    throw new Error(`no subject ${name}; there are ${Object.keys(SUBJECTS).join(', ')}`)
  const before = await bed.upstream.saw()
  const subject = await start(bed)
  if (typeof subject === 'string') return subject
  let records = 0
  try {
    await closedLoop(subject.target, 4, REQUESTS)
  } finally {
    records = await subject.finish()
  }
  const after = await bed.upstream.saw()
  const arrived = after.requests - before.requests
  const credentials = after.withCredential - before.withCredential
  if (arrived !== REQUESTS) return `${REQUESTS} requests were sent and ${arrived} arrived`
  if (credentials !== REQUESTS) return `${credentials} of ${REQUESTS} requests carried the credential`
  if (records !== REQUESTS) return `${REQUESTS} requests left ${records} records`
  return believesAnImpostor(name, bed)
}

async function believesAnImpostor(name: string, bed: Bed): Promise<string | null> {
  const impostor = await startImpostor(join(bed.folder, 'impostor'))
  const subject = await SUBJECTS[name]?.({ ...bed, upstreamPort: impostor.port })
  if (subject === undefined || typeof subject === 'string') return subject ?? null
  try {
    const isAnswered = await closedLoop(subject.target, 1, 1).then(
      () => true,
      () => false,
    )
    const { requests } = await impostor.saw()
    return isAnswered || requests > 0 ? 'it does not verify the certificate of the upstream' : null
  } finally {
    await subject.finish()
    await impostor.stop()
  }
}
