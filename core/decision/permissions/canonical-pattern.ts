import type { NameKind } from '../../connectors/names.ts'

/**
 * Reports whether a regular expression ignores case or contains only lower-case letters, so that it can match canonical
 * names. An expression that could match an upper-case letter by other means (`\x41`, `\p{Lu}`, a negated class of
 * letters), or that requires `.git` at the end of a repository, is not canonical.
 */
export function isCanonicalPattern(kind: NameKind, pattern: string): boolean {
  if (kind === 'repository' && REPOSITORY_SUFFIX.test(pattern)) return false
  if (IGNORES_CASE.test(pattern) && !RESTORES_CASE.test(pattern)) return true
  if (SPELLED_OTHERWISE.test(pattern) || NEGATED_LETTERS.test(pattern)) return false
  if ([...pattern.matchAll(CLASS)].some(([text]) => hasUpperCaseRange(text))) return false
  const letters = pattern.replaceAll(/\\[\s\S]/g, '')
  return letters === letters.toLowerCase()
}

const CLASS = /\[(?:[^\]\\]|\\[\s\S])*\]/g
const RANGE = /([\s\S])-\\?([^\]])/g

/**
 * Reports whether a character class has a range such as `[!-_]`, which includes upper-case letters without naming them
 * and excludes lower-case ones.
 */
function hasUpperCaseRange(text: string): boolean {
  return [...text.matchAll(RANGE)].some(([, from = '', to = '']) => from <= 'Z' && to >= 'A' && to < 'z')
}

const IGNORES_CASE = /^\(\?[a-z]*i[a-z]*\)/
const RESTORES_CASE = /\(\?[a-z]*-[a-z]*i/
const SPELLED_OTHERWISE = /\\[xpPQ0-7]|\[:\^?(?:upper|lower)/
const NEGATED_LETTERS = /\[\^(?:[^\]\\]|\\.)*[a-z]/
/** Matches a mandatory `.git` at the end of a pattern. No canonical repository name ends with `.git`. */
const REPOSITORY_SUFFIX = /(?:\.|\[\.\])git(?![\w-])(?!\)?\?)/i
