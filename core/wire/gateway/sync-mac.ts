/**
 * Returns the text for the HMAC of a section index. Key: the 32 bytes SHA-256(`sync:` + gateway token), known to both
 * sides.
 */
export function sectionIndexMacText(version: number, sections: Readonly<Record<string, string>>): string {
  const lines = Object.keys(sections)
    .sort()
    .map((name) => `${name}=${sections[name]}`)
  return ['sections', String(version), ...lines].join('\n')
}

export function beatMacText(version: number, until: string): string {
  return `beat\n${version}\n${until}`
}
