import { expect, it } from 'vitest'
import { certificateSubject } from '../../../core/x509/certificate-subject.ts'
import { bitString, explicit, oid, sequence, set, unsigned, utf8String } from '../../../core/x509/der.ts'

const name = (text: string) => sequence(set(sequence(oid('2.5.4.3'), utf8String(text))))
const [issuer, subject] = [name('issuer'), name('s'.repeat(200))]
const version = explicit(0, unsigned(Uint8Array.of(2)))
const algorithm = sequence(oid('1.2.840.10045.4.3.2'))
const body = sequence(version, unsigned(Uint8Array.of(1)), algorithm, issuer, sequence(), subject, sequence())

it('returns the subject byte for byte, and refuses bytes without one', () => {
  const certificate = sequence(body, algorithm, bitString(Uint8Array.of(1)))
  expect(certificateSubject(certificate)).toEqual(subject)
  expect(() => certificateSubject(certificate.subarray(0, 40))).toThrow(RangeError)
  expect(() => certificateSubject(new Uint8Array())).toThrow(RangeError)
})
