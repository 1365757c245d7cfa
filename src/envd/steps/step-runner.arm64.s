// The step runner on arm64: see runner-program.ts for what it is, script.ts for the layout of what it reads.
// x19: script   x21: the step   x22: result of the last step   x23: the step's control word
        mov     x19, #0x10000000
script: mov     x20, #0
more:   mov     x0, #3                  // read(3, script + got, capacity - got)
        add     x1, x19, x20
        mov     x2, #0x400000
        sub     x2, x2, x20
        mov     x8, #63
        svc     #0
        cmp     x0, #0
        b.le    quit                    // nobody sends any more
        add     x20, x20, x0
        cmp     x20, #8
        b.lo    more
        ldr     x9, [x19]
        cmp     x20, x9
        b.lo    more
        str     xzr, [x19, #16]
        add     x21, x19, #32
        mov     x22, #0
step:   ldr     x8, [x21]
        cmn     x8, #1
        b.eq    reply
        ldp     x0, x1, [x21, #8]
        ldp     x2, x3, [x21, #24]
        ldp     x4, x5, [x21, #40]
        ldr     x23, [x21, #56]
        tbz     x23, #1, call
        mov     x2, x22
call:   svc     #0
        mov     x22, x0
        str     x0, [x21, #64]
        tbz     x0, #63, went
        tbz     x23, #0, failed
went:   tbnz    x23, #3, jump
        tbz     x23, #2, next
        cbz     x0, jump
next:   add     x21, x21, #72
        b       step
jump:   lsr     x9, x23, #32
        add     x21, x19, x9
        b       step
failed: sub     x9, x21, x19
        stp     x9, x0, [x19, #16]
reply:  mov     x0, #3                  // write(3, script, reply length)
        mov     x1, x19
        ldr     x2, [x19, #8]
        mov     x8, #64
        svc     #0
        b       script
quit:   mov     x0, #0                  // exit_group(0)
        mov     x8, #94
        svc     #0
