/**
 * Returns the text whose HMAC authenticates a section index. The HMAC key is SHA-256(`sync:` + gateway token), 32
 * bytes, which gateway and control plane both derive.
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
