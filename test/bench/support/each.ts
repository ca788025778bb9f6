import type { BenchContext } from '../main.ts'
import { SUBJECTS, type Subject } from './subjects.ts'

/** Runs `measure` on each subject in turn, alone; a peer that fails says so and is left out, ours must not fail. */
export async function eachSubject(
  context: BenchContext,
  measure: (subject: Subject) => Promise<void>,
  names: readonly string[] = context.subjects,
): Promise<void> {
  for (const name of names.filter((wanted) => context.subjects.includes(wanted))) {
    const start = SUBJECTS[name]
    if (start === undefined)
      throw new Error(`no subject ${name}; there are ${Object.keys(SUBJECTS).join(', ')}`)
    const subject = await start(context.bed)
    if (typeof subject === 'string') {
      console.error(`bench: ${name} left out: ${subject}`)
      continue
    }
    console.error(`bench:   ${name}`)
    const before = await context.bed.upstream.saw()
    try {
      await measure(subject)
      const { requests, withCredential } = await context.bed.upstream.saw()
      const bare = requests - before.requests - (withCredential - before.withCredential)
      if (bare > 0) throw new Error(`${bare} requests reached the upstream without the credential`)
    } catch (error) {
      if (name === 'chaperone') throw error
      context.failed.add(name)
      console.error(`bench: ${name} failed: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      await subject.finish()
    }
  }
}
