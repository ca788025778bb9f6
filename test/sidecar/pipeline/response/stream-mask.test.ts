import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createStreamMask } from '../../../../sidecar/pipeline/response/stream-mask.ts'

/** Masks each form as in one text, without regard to the other forms. */
function maskedText(text: string, forms: readonly string[]): string {
  const masked = [...text]
  for (const form of forms) {
    const searched = text.toLowerCase()
    for (let at = searched.indexOf(form); at >= 0; at = searched.indexOf(form, at + form.length))
      masked.fill('*', at, at + form.length)
  }
  return masked.join('')
}

const text = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom('a', 'b', 'A'), minLength: 1, maxLength })
const FORMS = fc.array(text(7), { minLength: 1, maxLength: 4 })

test('the result does not depend on the chunks, and only a possible beginning is held back', () => {
  fc.assert(
    fc.property(FORMS, fc.array(text(12), { maxLength: 12 }), (given, chunks) => {
      const forms = given.map((form) => form.toLowerCase())
      let maskedChunks = 0
      const mask = createStreamMask(forms, () => maskedChunks++)
      const whole = chunks.join('')
      let sent = ''
      let received = 0
      for (const chunk of chunks) {
        const before = Buffer.from(chunk)
        sent += mask.push(before).toString('latin1')
        expect(before.toString()).toBe(chunk)
        received += chunk.length
        expect(received - sent.length).toBeLessThan(Math.max(...forms.map(({ length }) => length)))
      }
      sent += mask.end().toString('latin1')
      expect(sent).toBe(maskedText(whole, forms))
      expect(maskedChunks > 0).toBe(sent !== whole)
    }),
    { numRuns: 2_000 },
  )
})
