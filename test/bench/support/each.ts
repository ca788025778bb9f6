import type { BenchContext } from '../main.ts'
import type { Subject } from './subject.ts'
import { SUBJECTS } from './subjects.ts'

/** Runs `measure` on each subject in turn, alone; a peer that fails says so and is left out, ours must not fail. */
export async function eachSubject(
  context: BenchContext,
  measure: (subject: Subject) => Promise<void>,
  names: readonly string[] = context.subjects,
): Promise<void> {
  for (const name of names.filter((wanted) => context.subjects.includes(wanted))) {
    const subject = await startSubject(context, name)
    if (subject === null) continue
    console.error(`bench:   ${name}`)
    try {
      await watched(context, subject, measure)
    } finally {
      await subject.finish()
    }
  }
}

export type Turns = {
  readonly rounds: number
  readonly warmUp: (subject: Subject) => Promise<void>
  /** One round. */
  readonly measure: (subject: Subject) => Promise<void>
  /** Once for each subject, behind the last round. */
  readonly last: (subject: Subject) => Promise<void>
}

/**
 * All subjects run at the same time and are measured in rounds, one subject after the other within each: what else
 * happens on the machine falls on all of them alike, where one that is measured alone has a good minute or a bad one.
 */
export async function subjectsInTurn(
  context: BenchContext,
  { rounds, warmUp, measure, last }: Turns,
): Promise<void> {
  const running: Subject[] = []
  try {
    for (const name of context.subjects) {
      const subject = await startSubject(context, name)
      if (subject !== null) running.push(subject)
    }
    const able = () => running.filter(({ name }) => !context.failed.has(name))
    for (const subject of able()) await watched(context, subject, warmUp)
    for (let round = 1; round <= rounds; round += 1) {
      console.error(`bench:   round ${round} of ${rounds}`)
      for (const subject of rotated(able(), round)) await watched(context, subject, measure)
    }
    for (const subject of able()) await watched(context, subject, last)
  } finally {
    for (const subject of running) await subject.finish()
  }
}

/** Returns the subjects in an order that begins with another subject in each round: A B C, B C A. */
function rotated(subjects: readonly Subject[], round: number): readonly Subject[] {
  const first = (round - 1) % Math.max(1, subjects.length)
  return [...subjects.slice(first), ...subjects.slice(0, first)]
}

/** Null when it cannot run here. */
async function startSubject({ bed }: BenchContext, name: string): Promise<Subject | null> {
  const start = SUBJECTS[name]
  if (start === undefined)
    throw new Error(`no subject ${name}; there are ${Object.keys(SUBJECTS).join(', ')}`)
  const subject = await start(bed)
  if (typeof subject !== 'string') return subject
  console.error(`bench: ${name} left out: ${subject}`)
  return null
}

/** A request that reaches the upstream without the credential is enough for a subject to have failed. */
async function watched(
  { bed, failed }: BenchContext,
  subject: Subject,
  work: (subject: Subject) => Promise<void>,
): Promise<void> {
  const before = await bed.upstream.saw()
  try {
    await work(subject)
    const { requests, withCredential } = await bed.upstream.saw()
    const bare = requests - before.requests - (withCredential - before.withCredential)
    if (bare > 0) throw new Error(`${bare} requests reached the upstream without the credential`)
  } catch (error) {
    if (subject.name === 'chaperone') throw error
    failed.add(subject.name)
    console.error(`bench: ${subject.name} failed: ${error instanceof Error ? error.message : String(error)}`)
  }
}
