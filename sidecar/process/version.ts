import manifest from '../../package.json' with { type: 'json' }

/** Version of the program, such as `1.2.3`. */
export const VERSION: string = manifest.version
