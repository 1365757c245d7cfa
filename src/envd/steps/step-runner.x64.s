# The step runner on x86-64: see runner-program.ts for what it is, script.ts for the layout of what it reads.
# rbx: script   r12: the step   r13: result of the last step   r14: the step's control word
        mov     $0x10000000, %ebx
script: xor     %ebp, %ebp
more:   xor     %eax, %eax              # read(3, script + got, capacity - got)
        mov     $3, %edi
        lea     (%rbx,%rbp), %rsi
        mov     $0x400000, %edx
        sub     %ebp, %edx
        syscall
        test    %rax, %rax
        jle     quit                    # nobody sends any more
        add     %rax, %rbp
        cmp     $8, %rbp
        jb      more
        cmp     (%rbx), %rbp
        jb      more
        movq    $0, 16(%rbx)
        lea     32(%rbx), %r12
        xor     %r13d, %r13d
step:   mov     (%r12), %rax
        cmp     $-1, %rax
        je      reply
        mov     8(%r12), %rdi
        mov     16(%r12), %rsi
        mov     24(%r12), %rdx
        mov     32(%r12), %r10
        mov     40(%r12), %r8
        mov     48(%r12), %r9
        mov     56(%r12), %r14
        test    $2, %r14b
        cmovnz  %r13, %rdx
        syscall
        mov     %rax, %r13
        mov     %rax, 64(%r12)
        test    %rax, %rax
        jns     went
        test    $1, %r14b
        jz      failed
went:   test    $8, %r14b
        jnz     jump
        test    $4, %r14b
        jz      next
        test    %rax, %rax
        jz      jump
next:   add     $72, %r12
        jmp     step
jump:   shr     $32, %r14
        lea     (%rbx,%r14), %r12
        jmp     step
failed: mov     %r12, %rcx
        sub     %rbx, %rcx
        mov     %rcx, 16(%rbx)
        mov     %rax, 24(%rbx)
reply:  mov     $1, %eax                # write(3, script, reply length)
        mov     $3, %edi
        mov     %rbx, %rsi
        mov     8(%rbx), %rdx
        syscall
        jmp     script
quit:   mov     $231, %eax              # exit_group(0)
        xor     %edi, %edi
        syscall
