import { fileURLToPath } from 'node:url'
import { codeViolations } from './structure/code-rules.ts'
import { featureViolations } from './structure/feature-rules.ts'
import { importViolations } from './structure/import-rules.ts'
import { readSources } from './structure/source-files.ts'

/** Prints a line for every violation of the import directions and code rules. Exits with 1 if there are violations. */
const files = readSources(fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, ''))
const violations = [
  ...files.flatMap((file) => [...importViolations(file), ...codeViolations(file)]),
  ...featureViolations(files),
]
for (const { path, line, message } of violations) console.error(`${path}:${line} ${message}`)
console.log(
  `structure: ${files.length} files, ${violations.length} ${violations.length === 1 ? 'violation' : 'violations'}`,
)
process.exitCode = violations.length === 0 ? 0 : 1
